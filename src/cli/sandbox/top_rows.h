/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/top_rows: the rows of `atoll top`, sorted. No I/O. */
#pragma once

#include <stdint.h>

#include "cli/table.h"
#include "client/atoll.h"

enum top_sort { TOP_CPU, TOP_MEMORY, TOP_DISK, TOP_PIDS, TOP_IDLE };

struct top_row {
	const struct atoll_info *info;
	const struct atoll_point *point; /* NULL if unknown or too old */
	int64_t idle_s, left_s;          /* -1 if unknown */
};

struct top_rows { /* borrows the list and the points */
	struct top_row *v;
	size_t n;
	size_t running;
	double cpu_pct; /* sum of all sandboxes */
	uint64_t mem_used, disk_used, pids;
};

int top_sort_parse(const char *name, enum top_sort *ret); /* "cpu", "memory", "disk", "pids" or "idle"; else -EINVAL */

/* Sorts the largest first; for idle, the longest idle first. Returns 0 or -ENOMEM. */
int top_rows_make(const struct atoll_list *l, const struct atoll_points *p, uint64_t now_ms, enum top_sort by,
    struct top_rows *ret);
void top_rows_done(struct top_rows *r);
#define autotop __attribute__((cleanup(top_rows_done)))

extern const struct column top_columns[10];
void top_rows_table(const struct top_rows *r, struct table *t); /* t has top_columns */
void top_rows_title(const struct top_rows *r, struct buf *out); /* one line with the totals */
char *top_rows_json(const struct top_rows *r);                  /* a JSON array, malloc'ed; NULL if memory runs out */
