/* SPDX-License-Identifier: Apache-2.0 */
/* pool: the disk space of the sandboxes.
 *
 * A btrfs file system in the file STATE/pool.img, mounted in the warden's mount namespace only; each sandbox has a
 * subvolume with the directories u (upper) and w (work), limited by quota. The file is fallocated, so a write that the pool
 * took never fails for lack of space on the host's disk. Without a pool (the admin's choice) the same directories are
 * plain ones in STATE/uppers, and there are no disk limits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct pool;				/* opaque */

struct pool_config {
	const char *state_dir;
	const char *mount_at;		/* an empty directory */
	int node_fd;			/* a directory where device nodes may be made */
	uint64_t bytes, max_bytes;
	bool plain;			/* no pool */
};

int pool_open(const struct pool_config *cfg, struct pool **ret, struct err *e);
void pool_close(struct pool *p, bool unmount);			/* NULL is fine */

int pool_bases(struct pool *p, int *ret_fd, struct err *e);	/* a directory for engine/base.h; -1 without a pool */
int pool_make(struct pool *p, const char *id, uint64_t disk_bytes, int *ret_fd, struct err *e);	/* fd of its directory */
int pool_remove(struct pool *p, const char *id, struct err *e);	/* in the background; idempotent; -EAGAIN: ask again */
int pool_limit(struct pool *p, const char *id, uint64_t disk_bytes, struct err *e);	/* another one, also below what is used */
void pool_size(const struct pool *p, uint64_t *ret_bytes, uint64_t *ret_free, uint64_t *ret_grow);	/* all 0 without a pool */
uint64_t pool_device(const struct pool *p);			/* dev_t of the device that it is on; 0: a plain directory */
/* A sandbox whose memory is being read is nobody else's to thaw, not even for a warden that comes after the one that began it.
 * Whoever reads it holds this fd. -EBUSY: another does. */
int pool_lock(struct pool *p, const char *id, int *ret_fd, struct err *e);
int pool_usage(struct pool *p, const char *id, uint64_t *ret_bytes);	/* -errno */

/* What is kept of a sandbox under a name of its own, and outlives it: NAME+d is its disk as it was, read-only; NAME+m a
 * directory for the image of its memory. */
int pool_keep_disk(struct pool *p, const char *id, const char *name, struct err *e);	/* on disk when it returns */
/* An empty directory, locked while the fd is open. -EBUSY: another is writing it; -EEXIST: it is there, whole, and *ret_fd is it. */
int pool_keep_memory(struct pool *p, const char *name, int *ret_fd, struct err *e);
int pool_kept_memory(struct pool *p, const char *name, int *ret_fd, struct err *e);	/* -ENOENT */
int pool_make_from(struct pool *p, const char *name, const char *id, uint64_t disk_bytes, int *ret_fd, struct err *e);
int pool_make_room(struct pool *p, uint64_t bytes, struct err *e);	/* grows it, if it can; -ENOSPC. Waits up to a few seconds */
int pool_kept(struct pool *p, void (*fn)(void *arg, const char *name, bool disk, bool memory), void *arg, struct err *e);
int pool_forget(struct pool *p, const char *name, struct err *e);	/* both; in the background; idempotent; -EAGAIN */

/* Volumes: NAME+v. */
int pool_volume_set(struct pool *p, const char *name, uint64_t bytes, struct err *e);	/* makes it; on disk when it returns */
int pool_volume_open(struct pool *p, const char *name, int *ret_fd, struct err *e);	/* -ENOENT */
int pool_volume_drop(struct pool *p, const char *name, struct err *e);		/* in the background; idempotent; -EAGAIN */
int pool_volumes(struct pool *p, void (*fn)(void *arg, const char *name, uint64_t used_bytes), void *arg, struct err *e);

int pool_forget_memory(struct pool *p, const char *name, struct err *e);

/* In a forked helper that outlives the warden and so must not hold its locks: of the pool's fds it keeps only the one returned,
 * and removing is done on the spot from now on. */
int pool_for_helper(struct pool *p);

/* Removes what belongs to none of these; what is kept under a name stays. */
void pool_keep_only(struct pool *p, bool (*keep)(const char *id, void *arg), void *arg);

void pool_tick(struct pool *p);		/* grows, sweeps; about once a second */
