/* SPDX-License-Identifier: Apache-2.0 */
/* userns: processes in new namespaces and the id maps of user namespaces. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* fork() into new namespaces (CLONE_NEW* flags, or 0) and into a cgroup of v2 (its directory, or -1): 0 in the child,
 * its pid in the parent, or -errno. */
pid_t userns_fork(uint64_t flags, int cgroup_fd, int *ret_pidfd);

/* Ids 0 to count - 1 of that process's new user namespace are first to first + count - 1 of ours. Must be called by a
 * process in the namespace above, with /proc of its own pid namespace: a grandparent may not (EPERM). */
int userns_map(pid_t pid, uint32_t first, uint32_t count, struct err *e);
/* with that directory for /proc */
int userns_map_at(int proc_fd, pid_t pid, uint32_t first, uint32_t count, struct err *e);

/* A user namespace that exists for its map only, to map mounts with: root and count - 1 ids behind it. */
int userns_for_map(uint32_t root, uint32_t count, int *ret_fd, struct err *e);

/* The host's uid that made the outermost user namespace which that process is in, below ours. To the kernel, whoever
 * has it as effective uid has every capability over that namespace, even those that we do not have ourselves. */
int userns_owner(pid_t pid, uid_t *ret, struct err *e);
