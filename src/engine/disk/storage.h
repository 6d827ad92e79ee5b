/* SPDX-License-Identifier: Apache-2.0 */
/* storage: the disk space of the sandboxes.
 *
 * A btrfs file system in the file STATE/pool.img, mounted only in the warden's mount namespace. Each sandbox has a
 * subvolume with the directories u (upper) and w (work), limited by quota. The file is fallocated, so a write that
 * the storage accepted never fails for lack of space on the host's disk. Without btrfs (the administrator's
 * choice) the same directories are plain ones in STATE/uppers, and there are no disk limits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct storage; /* opaque */

struct storage_config {
	const char *state_dir;
	const char *mount_at; /* an empty directory */
	int node_fd;          /* a directory where device nodes may be made */
	uint64_t bytes, max_bytes;
	bool plain; /* plain directories, no btrfs */
};

int storage_open(const struct storage_config *cfg, struct storage **ret, struct err *e);
void storage_close(struct storage *p, bool unmount); /* p may be NULL */

/* Opens the directory for engine/zygote/base.h; -1 without btrfs. */
int storage_bases(struct storage *p, int *ret_fd, struct err *e);
/* Makes the sandbox's directory; *ret_fd is an fd of it. */
int storage_make(struct storage *p, const char *id, uint64_t disk_bytes, int *ret_fd, struct err *e);
/* Deletes it in the background; idempotent; -EAGAIN: call again. */
int storage_remove(struct storage *p, const char *id, struct err *e);
/* Changes the limit, also to less than what is used. */
int storage_limit(struct storage *p, const char *id, uint64_t disk_bytes, struct err *e);
/* All 0 without btrfs. */
void storage_size(const struct storage *p, uint64_t *ret_bytes, uint64_t *ret_free, uint64_t *ret_grow);
/* dev_t of the underlying device; 0: plain directories. */
uint64_t storage_device(const struct storage *p);
/* While the memory of a sandbox is being read, no other process may thaw the sandbox, not even a later warden. The
 * process that reads holds this fd. -EBUSY: another process holds it. */
int storage_lock(struct storage *p, const char *id, int *ret_fd, struct err *e);
int storage_usage(struct storage *p, const char *id, uint64_t *ret_bytes); /* -errno */

/* Snapshots and checkpoints, which have a name and outlive the sandbox: NAME+d is its disk, read-only; NAME+m is a
 * directory for its memory. */
/* The snapshot is durable on return. */
int storage_keep_disk(struct storage *p, const char *id, const char *name, struct err *e);
/* Makes an empty directory, locked while the fd is open. -EBUSY: another process is writing it. -EEXIST: it exists
 * and is complete, and *ret_fd is set to it. */
int storage_keep_memory(struct storage *p, const char *name, int *ret_fd, struct err *e);
int storage_kept_memory(struct storage *p, const char *name, int *ret_fd, struct err *e); /* -ENOENT */
int storage_make_from(struct storage *p, const char *name, const char *id, uint64_t disk_bytes, int *ret_fd,
    struct err *e);
/* Makes that many bytes free, by growing the storage if it can; -ENOSPC. Blocks for up to a few seconds. */
int storage_make_room(struct storage *p, uint64_t bytes, struct err *e);
int storage_kept(struct storage *p, void (*fn)(void *arg, const char *name, bool disk, bool memory), void *arg,
    struct err *e);
/* Deletes both in the background; idempotent; -EAGAIN: call again. */
int storage_forget(struct storage *p, const char *name, struct err *e);

/* Volumes: NAME+v. */
/* Creates it if necessary and sets its limit; durable on return. */
int storage_volume_set(struct storage *p, const char *name, uint64_t bytes, struct err *e);
int storage_volume_open(struct storage *p, const char *name, int *ret_fd, struct err *e); /* -ENOENT */
/* Deletes it in the background; idempotent; -EAGAIN: call again. */
int storage_volume_drop(struct storage *p, const char *name, struct err *e);
int storage_volumes(struct storage *p, void (*fn)(void *arg, const char *name, uint64_t used_bytes), void *arg,
    struct err *e);

int storage_forget_memory(struct storage *p, const char *name, struct err *e);

/* Called in a forked helper that outlives the warden and so must not hold its locks. Returns the one fd of the
 * storage that the helper keeps; the caller closes all others. From then on this process deletes synchronously. */
int storage_for_helper(struct storage *p);

/* Deletes the sandboxes for which keep() returns false. Snapshots, checkpoints and volumes stay. */
void storage_keep_only(struct storage *p, bool (*keep)(const char *id, void *arg), void *arg);

void storage_tick(struct storage *p); /* growth and sweeping; called about once a second */
