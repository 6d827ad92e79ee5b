/* SPDX-License-Identifier: Apache-2.0 */
/* room: the last part of the pool is for those who have little.
 *
 * Disk limits of sandboxes and volumes may add up to more than the pool can ever hold: most use little of
 * theirs. So that one of them cannot use up what all others were promised, each may take what is spare at the
 * moment, and the reserve (an eighth of the pool) is left to those who use less than half of what the largest
 * one does. That is a second limit beside the promised one: the kernel's limit of *exclusive* bytes, which
 * nothing else uses. Its numbers live in the kernel, so whoever comes after a helper that was killed finds them
 * there and goes on.
 *
 * What is used is read from sysfs: there the kernel counts what is promised to be written, too, which its trees
 * on disk do not have until the next commit. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define ROOM_NONE UINT64_MAX /* nothing held back */

struct room_use {                /* a sandbox or a volume */
	uint64_t id;             /* of its subvolume */
	uint64_t used, promised; /* bytes */
	uint64_t held;           /* the second limit, or ROOM_NONE */
};

struct room_storage {
	uint64_t bytes, free_bytes; /* with what it may still grow by */
};

uint64_t room_reserve(const struct room_storage *p);

/* What the second limit of one should be; most: the used bytes of the largest one. */
uint64_t room_held(const struct room_storage *p, const struct room_use *u, uint64_t most);

/* Looks once and sets what has changed. grow_bytes: what the pool may still grow by. Returns in how many milliseconds
 * it wants to look again; -1: with the next tick. */
int room_look(int fs_fd, uint64_t grow_bytes);
