/* SPDX-License-Identifier: Apache-2.0 */
/* spawn: starts one program with the user's identity, a session of its own and nothing of ours.
 *
 * The child is cloned sharing our memory, with us stopped until it has called exec: no page tables are copied, and
 * what goes wrong before exec is known when spawn() returns. A program that cannot be executed is not such a failure:
 * as under a shell the child says so on its stderr and exits with 127 (not found) or 126. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct spawn {
	char *const *argv; /* argv[0] is looked up in the PATH of envp unless it has a slash */
	char *const *envp;
	const char *cwd;
	uid_t uid;
	gid_t gid;
	const gid_t *groups;
	size_t n_groups;
	int in, out, err; /* become 0, 1 and 2; all must be above 2 and close-on-exec */
	int ctl;          /* 0: none; else it becomes 3, and must be above that */
	bool tty;         /* in is a terminal's slave: it becomes the controlling one; needs leader */
	/* It leads its session and process group. A command without a terminal does not, as under E2B's envd: setsid(1)
	 * forks and setsid(2) fails in a leader, so launchers that detach a program would lose its exit status. It
	 * still has a process group that no other command is in, so `kill 0` ends its own processes only. */
	bool leader;
};

int spawn(const struct spawn *sp, pid_t *ret_pid, struct err *e);
