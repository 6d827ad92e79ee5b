/* SPDX-License-Identifier: Apache-2.0 */
/* inside: checks that everything the processes of a sandbox can reach belongs to that sandbox.
 *
 * CRIU reopens files by path, and other sandboxes can change the volumes that those paths lead through. So before
 * any process of a restored sandbox runs, each descriptor, working directory, root, program and mapping of each
 * process is compared with the mounts of its own mount namespace. Objects outside every mount are accepted by
 * their type: pipes, sockets, anonymous memory and the like belong to no mounted file system.
 *
 * Nothing here resolves a path of the sandbox: links in /proc/PID lead to the file itself, whatever its name is. */
#pragma once

#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"

/* pids: the processes of the sandbox's cgroup, one number per line, in our pid namespace. Processes in another pid
 * namespace than init, the sandbox's pid 1, do not belong to it and are skipped. None of them may run. base_fd: a
 * file of ours that they may have mapped; -1: none. -ESTALE: something does not belong to the sandbox. */
int inside_check(FILE *pids, pid_t init, int base_fd, struct err *e);
