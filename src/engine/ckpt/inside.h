/* SPDX-License-Identifier: Apache-2.0 */
/* inside: is all that the processes of a sandbox can reach really of that sandbox?
 *
 * CRIU opens by path what they had open, and other sandboxes can change the volumes that those paths lead through. So
 * before anything of a restored sandbox runs, each descriptor, working directory, root, program and mapping of each
 * process is compared with the mounts of its own mount namespace. What is in no mount is told by its kind: pipes,
 * sockets, memory and the like belong to no file system.
 *
 * Nothing here resolves a path of the sandbox: links in /proc/PID lead to the file itself, whatever it is called. */
#pragma once

#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"

/* pids: the processes of its cgroup, a number in each line, in our pid namespace; those in another pid namespace than
 * init, which is its pid 1, are not of it and left out. None of them may run. base_fd: a file of ours that they may
 * have mapped; -1: none. -ESTALE: something is not of the sandbox. */
int inside_check(FILE *pids, pid_t init, int base_fd, struct err *e);
