/* SPDX-License-Identifier: Apache-2.0 */
/* userns: processes in new namespaces and the id maps of user namespaces. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct id_map { /* count ids of a user namespace, and those of the one above that they are */
	uint32_t inside, outside, count;
};

/* fork() into new namespaces (CLONE_NEW* flags, or 0) and into a cgroup v2 directory (cgroup_fd, or -1). Returns 0
 * in the child, its pid in the parent, or -errno. */
pid_t userns_fork(uint64_t flags, int cgroup_fd, int *ret_pidfd);

/* Maps ids 0 to count - 1 of that process's new user namespace to first to first + count - 1 of ours. Must be
 * called by a process in the parent namespace, with /proc of its own pid namespace: a process in a grandparent
 * namespace gets EPERM. */
int userns_map(pid_t pid, uint32_t first, uint32_t count, struct err *e);
/* the same with several ranges: v[0] to v[n - 1], in the order of their ids inside */
int userns_maps(pid_t pid, const struct id_map *v, size_t n, struct err *e);
/* with that directory in place of /proc */
int userns_map_at(int proc_fd, pid_t pid, uint32_t first, uint32_t count, struct err *e);

/* Whether the map of that process's user namespace has all of these ranges, as they are. */
bool userns_has_maps(pid_t pid, const struct id_map *v, size_t n);

/* Creates a user namespace that exists only for its map, for id-mapped mounts: root and the count - 1 ids that
 * follow it. */
int userns_for_map(uint32_t root, uint32_t count, int *ret_fd, struct err *e);

/* Returns the host uid that owns the outermost user namespace below ours that the process is in. The kernel grants
 * a process with that effective uid every capability over the namespace, even capabilities that we do not have
 * ourselves. */
int userns_owner(pid_t pid, uid_t *ret, struct err *e);
