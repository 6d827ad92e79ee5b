/* SPDX-License-Identifier: Apache-2.0 */
/* spawn: starts one program with the user's identity, in a session of its own; nothing of init is inherited.
 *
 * The child is cloned with CLONE_VM | CLONE_VFORK: no page tables are copied, init is suspended until the child
 * calls exec, and a failure before exec is known when spawn() returns. A program that cannot be executed is not
 * such a failure: as under a shell, the child reports it on its stderr and exits with 127 (not found) or 126. */
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
	int ctl;          /* 0: none; otherwise it becomes 3 and must be above 3 */
	bool tty;         /* in is the slave of a terminal, which becomes the controlling terminal; needs leader */
	/* The program leads its session and process group. A command without a terminal does not, as in E2B's
	 * envd: setsid(1) forks and setsid(2) fails in a leader, so launchers that detach a program would lose its
	 * exit status. The program still has a process group of its own, so `kill 0` reaches only its own
	 * processes. */
	bool leader;
};

int spawn(const struct spawn *sp, pid_t *ret_pid, struct err *e);

/* Whether such a program is first the child of that session's leader, which ends at once, and then init's. Elsewhere it
 * is init's from the start; but gVisor would put it into the process group of init, with all others. Needs pid 1. */
void spawn_as_orphans(bool on);
