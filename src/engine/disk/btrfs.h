/* SPDX-License-Identifier: Apache-2.0 */
/* btrfs: subvolumes, their quota and the size of the file system, by ioctl. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

int btrfs_quota_enable(int fs_fd, bool *ret_simple, struct err *e); /* simple quotas where the kernel has them */
int btrfs_subvol_create(int dirfd, const char *name, struct err *e);
/* on disk when it returns */
int btrfs_snapshot(int subvol_fd, int dirfd, const char *name, bool read_only, struct err *e);
int btrfs_subvol_delete(int dirfd, const char *name); /* -errno; -ENOENT */
int btrfs_subvol_id(int fd, uint64_t *ret);           /* of the subvolume that fd is in; -errno */
int btrfs_limit(int subvol_fd, uint64_t bytes, struct err *e);
int btrfs_usage(int fs_fd, uint64_t subvol, uint64_t *ret_bytes); /* -ENOENT: not counted */
int btrfs_resize_max(int fs_fd);                                  /* to the size of its device; -errno */
int btrfs_metadata_room(int fs_fd, struct err *e);                /* room that data cannot take, see there */

/* Removes the counters of subvolumes that are gone. The kernel keeps one as long as the cleaner is busy with what it
 * counted, so this is called now and then. A counter is there a moment before its subvolume: *below, 0 at first,
 * carries from call to call which ones are old enough. Returns how many are left to remove. */
int btrfs_qgroup_sweep(int fs_fd, uint64_t *below);

/* Of a file that cannot be mounted, which failed with that errno: what is wrong with it, as far as that shows from
 * outside. */
void btrfs_look(int file_fd, int no, char *ret, size_t size);
