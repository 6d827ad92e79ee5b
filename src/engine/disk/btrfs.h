/* SPDX-License-Identifier: Apache-2.0 */
/* btrfs: subvolumes, their quota and the size of the file system, by ioctl. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

int btrfs_quota_enable(int fs_fd, bool *ret_simple, struct err *e); /* uses simple quotas if the kernel has them */
int btrfs_subvol_create(int dirfd, const char *name, struct err *e);
/* The snapshot is durable on return. */
int btrfs_snapshot(int subvol_fd, int dirfd, const char *name, bool read_only, struct err *e);
int btrfs_subvol_delete(int dirfd, const char *name); /* -errno; -ENOENT */
int btrfs_subvol_id(int fd, uint64_t *ret);           /* of the subvolume that fd is in; -errno */
int btrfs_limit(int subvol_fd, uint64_t bytes, struct err *e);
int btrfs_usage(int fs_fd, uint64_t subvol, uint64_t *ret_bytes); /* -ENOENT: not counted */
int btrfs_resize_max(int fs_fd);                                  /* grows it to the size of its device; -errno */
int btrfs_metadata_room(int fs_fd, struct err *e);                /* reserves space that data cannot take; see
								   * there */

/* Removes the quota counters (qgroups) of deleted subvolumes. The kernel keeps a counter until its cleaner has
 * finished with the data, so this is called now and then. A counter exists a moment before its subvolume does:
 * *below, initially 0, carries from call to call which counters are old enough. Returns how many are left to
 * remove. */
int btrfs_qgroup_sweep(int fs_fd, uint64_t *below);

/* Describes what is wrong with a file that could not be mounted (errno no), as far as that can be seen from
 * outside. */
void btrfs_look(int file_fd, int no, char *ret, size_t size);
