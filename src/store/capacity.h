/* SPDX-License-Identifier: Apache-2.0 */
/* store/capacity: the most that was in use at once, hour by hour (UTC). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct store;

struct capacity_row {
	uint64_t at;           /* hours, or days, since 1970 */
	uint64_t sandboxes;    /* running: the most at once, as are the next ones */
	uint64_t mem_bytes;    /* used by all together */
	uint64_t limit_bytes;  /* that they might have used */
	uint64_t cpu_permille; /* 1000: one core */
	uint64_t starts, pool_hits, pool_misses;
};

/* what is larger stays; the last three are added */
int capacity_add(struct store *s, const struct capacity_row *row, struct err *e);
int capacity_each(struct store *s, uint64_t from_hour, bool by_day,
    void (*fn)(void *user, const struct capacity_row *row), void *user, struct err *e); /* oldest first */
int capacity_prune(struct store *s, uint64_t before_hour, struct err *e);
