/* SPDX-License-Identifier: Apache-2.0 */
/* cli/table: rows of text whose columns are as wide as what is in them. No I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct column {
	const char *title;
	bool right; /* numbers */
};

struct table { /* cells are owned, and cleaned of control characters */
	const struct column *columns;
	size_t n_columns;
	char **cells;
	size_t n_cells;
	bool bad; /* out of memory */
};

#define TABLE_INIT(cols) ((struct table) { .columns = (cols), .n_columns = sizeof(cols) / sizeof(*(cols)) })

void table_done(struct table *t);
#define autotable __attribute__((cleanup(table_done)))

void table_add(struct table *t, const char *cell); /* the next cell, row by row; NULL: "-" */
void table_addf(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Rows from `first`, `count` of them at most, under the titles. width: columns of the screen to cut at, 0: none. Each
 * line ends with `eol`. */
void table_put(const struct table *t, struct buf *out, size_t first, size_t count, size_t width, const char *eol);

/* All of it on standard output; 0 or EXIT_FAILURE, said. */
int table_print(const struct table *t);

size_t text_width(const char *z); /* characters of UTF-8 */
