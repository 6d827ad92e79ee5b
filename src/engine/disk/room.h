/* SPDX-License-Identifier: Apache-2.0 */
/* room: reserves the last part of the storage for sandboxes and volumes that use little.
 *
 * Disk limits of sandboxes and volumes may add up to more than the storage can ever hold, since most use little of
 * theirs. So that one of them cannot use up what the others were promised, each may take what is spare at the
 * moment, and the reserve (an eighth of the storage) is left to those that use less than half of what the largest
 * one does. This is a second limit beside the promised one: btrfs's limit of *exclusive* bytes, which nothing else
 * uses. Its values are stored in the kernel, so a successor of a killed helper finds them there and continues.
 *
 * Usage is read from sysfs: there the kernel also counts reserved, unwritten data, which its trees on disk lack
 * until the next commit. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROOM_NONE UINT64_MAX /* no second limit */

struct room_use {                /* a sandbox or a volume */
	uint64_t id;             /* of its subvolume */
	uint64_t used, promised; /* bytes */
	uint64_t held;           /* the second limit, or ROOM_NONE */
};

struct room_storage {
	uint64_t bytes, free_bytes; /* including what the storage may still grow by */
};

uint64_t room_reserve(const struct room_storage *p);

/* Computes the second limit of one sandbox or volume; most: the used bytes of the largest one. */
uint64_t room_held(const struct room_storage *p, const struct room_use *u, uint64_t most);

/* Checks once and sets the limits that have changed. grow_bytes: how much the storage may still grow. Returns
 * after how many milliseconds it wants to be called again; -1: with the next tick, as room_is_ample(). *ret_n: the
 * number of subvolumes with a promise, all of which it reads. */
int room_look(int fs_fd, uint64_t grow_bytes, size_t *ret_n);
bool room_is_ample(int fs_fd, uint64_t grow_bytes); /* three quarters are free */
