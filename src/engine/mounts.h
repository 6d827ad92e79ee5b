/* SPDX-License-Identifier: Apache-2.0 */
/* mounts: the fd-based mount calls. A mount is made detached, as an fd, and put in its place at the end; no call
 * follows a symbolic link. */
#pragma once

#include <linux/mount.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct mount_opt {
	const char *key, *value; /* value NULL: a flag */
};

/* A new file system of that type, mounted nowhere yet. attr: MOUNT_ATTR_*. */
int mount_new(const char *type, const struct mount_opt *opts, size_t n_opts, unsigned attr, int *ret_fd, struct err *e);

/* A clone of what is at path (with empty path: of dirfd itself), mounted nowhere yet. */
int mount_clone(int dirfd, const char *path, uint64_t attr, int *ret_fd, struct err *e);

/* The ids of that user namespace stand for those on disk from here on. Before the mount is put anywhere. */
int mount_idmap(int mount_fd, int userns_fd, struct err *e);

/* Of a mount, and of all below it (AT_RECURSIVE in flags): what is set, what is cleared. */
int mount_change(int mount_fd, unsigned flags, uint64_t set, uint64_t clear, struct err *e);

/* Puts it on top of dirfd/path. */
int mount_put(int mount_fd, int dirfd, const char *path, struct err *e);

/* Opens what is at root_fd/path without leaving root_fd and without following a link; an O_PATH fd. */
int mount_target(int root_fd, const char *path, int *ret_fd, struct err *e);

/* No mount made here or elsewhere is seen on the other side from now on. */
int mount_make_private(struct err *e);

/* The directory at root_fd becomes "/" and the old root is gone. */
int mount_pivot(int root_fd, struct err *e);

int mount_detach(const char *path); /* lazy umount; -errno */
