/* SPDX-License-Identifier: Apache-2.0 */
/* cli/table: rows of text in columns as wide as their content. No I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct column {
	const char *title;
	bool right; /* numbers */
};

struct table { /* owns its cells, which contain no control characters */
	const struct column *columns;
	size_t n_columns;
	char **cells;
	size_t n_cells;
	bool bad; /* out of memory */
};

#define TABLE_INIT(cols) ((struct table) { .columns = (cols), .n_columns = sizeof(cols) / sizeof(*(cols)) })

void table_done(struct table *t);
#define autotable __attribute__((cleanup(table_done)))

void table_add(struct table *t, const char *cell); /* adds a cell, row by row; NULL is shown as "-" */
void table_addf(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Appends the titles and up to `count` rows from `first`. Lines are cut at `width` columns, or not at all if it is 0.
 * Each line ends with `eol`. */
void table_put(const struct table *t, struct buf *out, size_t first, size_t count, size_t width, const char *eol);

/* Prints the whole table on standard output. Returns 0, or EXIT_FAILURE after printing a message. */
int table_print(const struct table *t);

size_t text_width(const char *z); /* number of UTF-8 characters */
