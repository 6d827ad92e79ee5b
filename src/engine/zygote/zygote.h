/* SPDX-License-Identifier: Apache-2.0 */
/* zygote: a template's warm interpreter. Each new sandbox gets a copy of it by fork instead of starting an
 * interpreter.
 *
 * It is a process in Z with the template as its read-only root, without network, in a cgroup of its own, with the
 * seccomp filter of a sandbox (plus setns) and one capability, over Z. Its pid namespace is the host's: a process
 * can join only pid namespaces below its own, and sandboxes are directly below the host's, so that they depend on
 * no other process. Its /proc shows none of the host's processes, and since it has a uid of its own it can affect
 * none. It serves a socket below RUN/zygotes that only root can reach. Nothing depends on it: without a zygote, a
 * sandbox starts its interpreter when it needs it.
 *
 * A zygote has more power than a sandbox, so no byte of it may come from a user. Only templates that the server
 * has built itself have one (zygote_config.keys), never an image that a user has named, whatever it contains. It
 * does not see what a sandbox has above the template (its disk, layers of a build).
 *
 * The warden makes and checks it through a child process (zygote_ensure()). Copies in sandboxes are children of
 * their own pid 1 and do not notice when the zygote dies. */
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
	int bases_fd; /* where the files with their memory are made; -1: not made */
	const char *boot_id;
	uint32_t instance;
	uint32_t sandboxes; /* how many may have a copy at once */
	uint32_t version;   /* zygote_version() */
	struct cgroup_tree *cgroups;
	const struct holder_config *holder;
	bool tell_refusals; /* as in struct engine_config */
};

uint32_t zygote_version(void); /* version of the library that we give it, and so of the protocol */

/* Whether the server has built that template itself. A file beside the template's root says so, where no file of
 * an image is ever unpacked. */
bool zygote_is_own(int templates_fd, const char *key);

/* Connects to the template's zygote; -errno if there is none. */
int zygote_connect(const struct zygote_config *cfg, const char *key, int *ret_fd);
/* ... only if it is in that Z */
int zygote_connect_in(const struct zygote_config *cfg, const char *key, int userns_fd, int *ret_fd);

/* zygote_ask(), called on that connection by a process in Z: requests a copy in the sandbox of that pid 1, whose
 * id map is written but which has not continued yet. proc_fd: /proc of our pid namespace. seed_fd: the copy's end
 * of a socket pair whose other end init has. zygote_await() then waits for the copy's pid. The copy does nothing
 * until zygote_go(), and exits if the connection closes. Until then it is a process of Z, over which nothing in the
 * sandbox has power. */
int zygote_ask(int conn, int proc_fd, pid_t pid, int pidfd, int seed_fd);
int zygote_await(int conn, int pidfd, pid_t *ret_pid, struct err *e); /* -ESRCH: the sandbox has exited */
/* The sandbox is complete, and the copy is in its cgroups. open_files: its limit. */
void zygote_go(int conn, uint32_t open_files);

/* Makes a zygote if none answers; blocks until it is ready, and returns ZYGOTE_MADE then. ENGINE_NEVER: the template
 * cannot have one. Called by one process at a time per template. */
#define ZYGOTE_MADE 2
int zygote_ensure(const struct zygote_config *cfg, const char *key, struct err *e);
bool zygote_answers(const struct zygote_config *cfg, const char *key);

/* Kills zygotes of templates that may have none, as older versions have made them. */
void zygote_end_others(const struct zygote_config *cfg);
void zygote_end_all(const struct zygote_config *cfg);

extern const char join_image[], join_image_end[];
