/* SPDX-License-Identifier: Apache-2.0 */
/* mounts: the fd-based mount calls. A mount is created detached, as an fd, and attached at the end; no call
 * follows a symbolic link. */
#pragma once

#include <linux/mount.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct mount_opt {
	const char *key, *value; /* value NULL: a flag */
};

/* Creates a detached mount of a new file system of that type. attr: MOUNT_ATTR_*. */
int mount_new(const char *type, const struct mount_opt *opts, size_t n_opts, unsigned attr, int *ret_fd, struct err *e);

/* Clones the mount at path (with an empty path: at dirfd itself) as a detached mount. */
int mount_clone(int dirfd, const char *path, uint64_t attr, int *ret_fd, struct err *e);

/* Makes it an id-mapped mount with the map of that user namespace. Must be called before the mount is attached. */
int mount_idmap(int mount_fd, int userns_fd, struct err *e);

/* Sets and clears attributes of a mount, and of all mounts below it with AT_RECURSIVE in flags. */
int mount_change(int mount_fd, unsigned flags, uint64_t set, uint64_t clear, struct err *e);

/* Attaches the mount at dirfd/path. */
int mount_put(int mount_fd, int dirfd, const char *path, struct err *e);

/* Opens root_fd/path as an O_PATH fd, without leaving root_fd and without following a link. */
int mount_target(int root_fd, const char *path, int *ret_fd, struct err *e);

/* Makes all mounts private: from now on, no mount made here or elsewhere propagates to the other side. */
int mount_make_private(struct err *e);

/* Makes the directory at root_fd "/" and detaches the old root. */
int mount_pivot(int root_fd, struct err *e);

int mount_detach(const char *path); /* lazy umount; -errno */
