/* SPDX-License-Identifier: Apache-2.0 */
/* store/capacity: peak usage per hour (UTC). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct store;

struct capacity_row {
	uint64_t at;           /* hours, or days, since 1970 */
	uint64_t sandboxes;    /* running; peak, like the next ones */
	uint64_t mem_bytes;    /* used by all together */
	uint64_t limit_bytes;  /* sum of their limits */
	uint64_t cpu_permille; /* 1000: one core */
	uint64_t starts, pool_hits, pool_misses;
};

/* keeps the larger values; the last three are added up */
int capacity_add(struct store *s, const struct capacity_row *row, struct err *e);
int capacity_each(struct store *s, uint64_t from_hour, bool by_day,
    void (*fn)(void *user, const struct capacity_row *row), void *user, struct err *e); /* oldest first */
int capacity_prune(struct store *s, uint64_t before_hour, struct err *e);
