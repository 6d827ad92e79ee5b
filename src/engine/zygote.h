/* SPDX-License-Identifier: Apache-2.0 */
/* zygote: a template's warm interpreter, of which each new sandbox gets a copy by fork instead of starting one.
 *
 * It is a child of the template's holder: a process in Z with the template as its read-only root, without network, in a cgroup of
 * its own, with the system call filter of a sandbox (but for setns) and one capability, over Z. It serves a socket below
 * RUN/zygotes, where only root can reach it. Nothing depends on it: without one a sandbox starts its interpreter when it needs it.
 *
 * It is made aside, by a process that nobody waits for. One that has died is found out by the next start and replaced; sandboxes
 * made with it are children of their own pid 1 and do not notice. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct cgroup_tree;
struct holder_config;

struct zygote_config {
	int dir_fd;			/* RUN/zygotes */
	int templates_fd;
	uint32_t instance;
	struct cgroup_tree *cgroups;
	const struct holder_config *holder;
};

/* A connection to the template's zygote. -ENOENT: there is none (yet); one is being made then, if the template can have one. */
int zygote_connect(const struct zygote_config *cfg, const char *key, int *ret_fd);

/* On that connection, from a process in Z: have a copy forked into the sandbox of that pid 1
 * (a pid in Z, whose id map is written, but which has not gone on yet), with its end of a socket pair whose
 * other end init has. Then wait for the copy's pid in Z. It does nothing until zygote_go(), and ends if the connection does. */
int zygote_ask(int conn, pid_t pid, int pidfd, int seed_fd);
int zygote_await(int conn, pid_t *ret_pid, struct err *e);
void zygote_go(int conn);		/* the sandbox is finished, and the copy in its cgroups */

void zygote_forget_all(const struct zygote_config *cfg);	/* their files; the processes end with their holder */

extern const char join_image[], join_image_end[];
