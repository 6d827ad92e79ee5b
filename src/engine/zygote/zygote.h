/* SPDX-License-Identifier: Apache-2.0 */
/* zygote: a template's warm interpreter, of which each new sandbox gets a copy by fork instead of starting one.
 *
 * It is a process in Z with the template as its read-only root, without network, in a cgroup of its own, with the
 * system call filter of a sandbox (but for setns) and one capability, over Z. Its pid namespace is the host's: one can
 * join those below one's own only, and sandboxes are below no other, so that they depend on nobody's life. Of the
 * host's processes it sees none in its /proc, and as a user of its own it can touch none. It serves a socket below
 * RUN/zygotes, where only root can reach it. Nothing depends on it: without one a sandbox starts its interpreter when
 * it needs it.
 *
 * It has more power than a sandbox, so no byte of it may be a user's: there is one for the templates that the server
 * has built itself (zygote_config.keys) and never for an image that a user has named, whatever is in that. What a
 * sandbox has above the template (its disk, layers of a build) it does not see.
 *
 * The warden has it made and looked after by a child process (zygote_ensure()). Sandboxes made with one that has died
 * are children of their own pid 1 and do not notice. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct cgroup_tree;
struct holder_config;

struct zygote_config {
	int dir_fd; /* RUN/zygotes */
	int templates_fd;
	const char *const *keys; /* of the templates that may have one */
	size_t n_keys;
	int bases_fd; /* where the files with their memory are made; -1: nowhere */
	const char *boot_id;
	uint32_t instance;
	uint32_t version; /* zygote_version() */
	struct cgroup_tree *cgroups;
	const struct holder_config *holder;
	bool tell_refusals; /* as in struct engine_config */
};

uint32_t zygote_version(void); /* of the library that it gets from us, and so of how we talk to it */

/* Whether the server has built that template itself: what is beside its root says so, where nothing of an image ever
 * is. */
bool zygote_is_own(int templates_fd, const char *key);

/* A connection to the template's zygote, or -errno: there is none. */
int zygote_connect(const struct zygote_config *cfg, const char *key, int *ret_fd);
/* ... if it is in that Z */
int zygote_connect_in(const struct zygote_config *cfg, const char *key, int userns_fd, int *ret_fd);

/* On that connection, from a process in Z: have a copy forked into the sandbox of that pid 1 (whose id map is written,
 * but which has not gone on yet; proc_fd: /proc of our pid namespace), with its end of a socket pair whose other end
 * init has. Then wait for the copy's pid. It does nothing until zygote_go(), and ends if the connection does. */
int zygote_ask(int conn, int proc_fd, pid_t pid, int pidfd, int seed_fd);
int zygote_await(int conn, int pidfd, pid_t *ret_pid,
    struct err *e);       /* -ESRCH: the sandbox exited while the front was down */
void zygote_go(int conn); /* the sandbox is finished, and the copy in its cgroups */

/* Makes one if there is none that answers; takes as long as that takes. ENGINE_NEVER: the template cannot have one. For
 * one process at a time per template. */
int zygote_ensure(const struct zygote_config *cfg, const char *key, struct err *e);
bool zygote_answers(const struct zygote_config *cfg, const char *key);

/* of templates that may have none, as older versions have made them */
void zygote_end_others(const struct zygote_config *cfg);
void zygote_end_all(const struct zygote_config *cfg);

extern const char join_image[], join_image_end[];
