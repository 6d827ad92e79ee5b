/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/capacity: how much of the machine is in use, the maxima per hour, and how many more sandboxes fit. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct accounts;
struct capacity;

#define CAPACITY_KEPT_DAYS 400

struct capacity_now { /* totals of all running sandboxes */
	uint64_t sandboxes, limit_bytes, mem_bytes;
	double cpu_pct;
	uint64_t pool_hits, pool_misses; /* since the start of the front */
};

/* look: gets the current use; called from the functions below. */
struct capacity *capacity_new(struct accounts *a, void (*look)(void *user, struct capacity_now *ret), void *user);
void capacity_tick(struct capacity *c); /* once a second */
void capacity_save(struct capacity *c); /* samples and writes now, before a report */
void capacity_free(struct capacity *c); /* writes the current values; NULL is fine */

/* What exists, what is in use, and what one more sandbox needs. */
struct capacity_room {
	uint64_t places, places_used; /* max_sandboxes */
	uint64_t addresses, addresses_used;
	uint64_t mem_left_bytes;  /* memory that sandboxes may still use */
	uint64_t pids, pids_used; /* of the host */
	uint64_t disk_left_bytes; /* free storage, including what it may grow by; UINT64_MAX: no storage */
	uint64_t each_mem_bytes, each_pids, each_disk_bytes;
};

enum capacity_bound { BOUND_SANDBOXES, BOUND_ADDRESSES, BOUND_MEMORY, BOUND_PROCESSES, BOUND_DISK, BOUNDS };
const char *capacity_bound_name(enum capacity_bound b);

/* Computes how many more sandboxes each resource allows; returns the one that allows the fewest. */
enum capacity_bound capacity_fits(const struct capacity_room *r, uint64_t ret[BOUNDS]);
