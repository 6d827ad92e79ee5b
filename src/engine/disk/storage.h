/* SPDX-License-Identifier: Apache-2.0 */
/* storage: the disk space of the sandboxes.
 *
 * A btrfs file system in the file STATE/pool.img, mounted in the warden's mount namespace only; each sandbox has a
 * subvolume with the directories u (upper) and w (work), limited by quota. The file is fallocated, so a write that the
 * pool took never fails for lack of space on the host's disk. Without a pool (the admin's choice) the same directories
 * are plain ones in STATE/uppers, and there are no disk limits. */
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
	bool plain; /* no pool */
};

int storage_open(const struct storage_config *cfg, struct storage **ret, struct err *e);
void storage_close(struct storage *p, bool unmount); /* NULL is fine */

/* a directory for engine/zygote/base.h; -1 without a pool */
int storage_bases(struct storage *p, int *ret_fd, struct err *e);
/* fd of its directory */
int storage_make(struct storage *p, const char *id, uint64_t disk_bytes, int *ret_fd, struct err *e);
/* in the background; idempotent; -EAGAIN: ask again */
int storage_remove(struct storage *p, const char *id, struct err *e);
/* another one, also below what is used */
int storage_limit(struct storage *p, const char *id, uint64_t disk_bytes, struct err *e);
/* all 0 without a pool */
void storage_size(const struct storage *p, uint64_t *ret_bytes, uint64_t *ret_free, uint64_t *ret_grow);
/* dev_t of the device that it is on; 0: a plain directory */
uint64_t storage_device(const struct storage *p);
/* A sandbox whose memory is being read is nobody else's to thaw, not even for a warden that comes after the one that
 * began it. Whoever reads it holds this fd. -EBUSY: another does. */
int storage_lock(struct storage *p, const char *id, int *ret_fd, struct err *e);
int storage_usage(struct storage *p, const char *id, uint64_t *ret_bytes); /* -errno */

/* What is kept of a sandbox under a name of its own, and outlives it: NAME+d is its disk as it was, read-only; NAME+m a
 * directory for the image of its memory. */
/* on disk when it returns */
int storage_keep_disk(struct storage *p, const char *id, const char *name, struct err *e);
/* An empty directory, locked while the fd is open. -EBUSY: another is writing it; -EEXIST: it is there, whole, and
 * *ret_fd is it. */
int storage_keep_memory(struct storage *p, const char *name, int *ret_fd, struct err *e);
int storage_kept_memory(struct storage *p, const char *name, int *ret_fd, struct err *e); /* -ENOENT */
int storage_make_from(struct storage *p, const char *name, const char *id, uint64_t disk_bytes, int *ret_fd,
    struct err *e);
/* grows it, if it can; -ENOSPC. Waits up to a few seconds */
int storage_make_room(struct storage *p, uint64_t bytes, struct err *e);
int storage_kept(struct storage *p, void (*fn)(void *arg, const char *name, bool disk, bool memory), void *arg,
    struct err *e);
/* both; in the background; idempotent; -EAGAIN */
int storage_forget(struct storage *p, const char *name, struct err *e);

/* Volumes: NAME+v. */
/* makes it; on disk when it returns */
int storage_volume_set(struct storage *p, const char *name, uint64_t bytes, struct err *e);
int storage_volume_open(struct storage *p, const char *name, int *ret_fd, struct err *e); /* -ENOENT */
/* in the background; idempotent; -EAGAIN */
int storage_volume_drop(struct storage *p, const char *name, struct err *e);
int storage_volumes(struct storage *p, void (*fn)(void *arg, const char *name, uint64_t used_bytes), void *arg,
    struct err *e);

int storage_forget_memory(struct storage *p, const char *name, struct err *e);

/* In a forked helper that outlives the warden and so must not hold its locks: of the pool's fds it keeps only the one
 * returned, and removing is done on the spot from now on. */
int storage_for_helper(struct storage *p);

/* Removes what belongs to none of these; what is kept under a name stays. */
void storage_keep_only(struct storage *p, bool (*keep)(const char *id, void *arg), void *arg);

void storage_tick(struct storage *p); /* grows, sweeps; about once a second */
