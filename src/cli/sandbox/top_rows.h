/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/top_rows: what `atoll top` shows of each sandbox, in order. No I/O. */
#pragma once

#include <stdint.h>

#include "cli/table.h"
#include "client/atoll.h"

enum top_sort { TOP_CPU, TOP_MEMORY, TOP_DISK, TOP_PIDS, TOP_IDLE };

struct top_row {
	const struct atoll_info *info;
	const struct atoll_point *point; /* NULL: not known, or too old to tell anything about now */
	int64_t idle_s, left_s;          /* -1: not known */
};

struct top_rows { /* borrows the list and the points */
	struct top_row *v;
	size_t n;
	size_t running;
	double cpu_pct; /* of all */
	uint64_t mem_used, disk_used, pids;
};

int top_sort_parse(const char *name, enum top_sort *ret); /* "cpu", "memory", "disk", "pids", "idle"; -EINVAL */

/* -ENOMEM. Largest first; the one that is idle for longest first. */
int top_rows_make(const struct atoll_list *l, const struct atoll_points *p, uint64_t now_ms, enum top_sort by,
    struct top_rows *ret);
void top_rows_done(struct top_rows *r);
#define autotop __attribute__((cleanup(top_rows_done)))

extern const struct column top_columns[10];
void top_rows_table(const struct top_rows *r, struct table *t); /* of top_columns */
void top_rows_title(const struct top_rows *r, struct buf *out); /* one line: the sums */
char *top_rows_json(const struct top_rows *r);                  /* an array; malloc, NULL: memory */
