/* SPDX-License-Identifier: Apache-2.0 */
/* cli/table: rows of text in columns as wide as their content. */
#include "cli/table.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/format.h"

#define CELL_MAX 4096
#define TABLE_MAX (64u * 1024 * 1024)
#define GAP 2 /* spaces between columns */

void table_done(struct table *t)
{
	for (size_t i = 0; i < t->n_cells; i++)
		free(t->cells[i]);
	free(t->cells);
}

void table_add(struct table *t, const char *cell)
{
	autobuf struct buf b = BUF_INIT(CELL_MAX);

	put_clean(&b, cell && *cell ? cell : "-");
	char **v = reallocarray(t->cells, t->n_cells + 1, sizeof(*v));
	char *copy = str_dup(buf_view(&b));
	if (v)
		t->cells = v;
	if (!v || !copy) {
		free(copy);
		t->bad = true;
		return;
	}
	v[t->n_cells++] = copy;
}

void table_addf(struct table *t, const char *fmt, ...)
{
	char text[CELL_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	table_add(t, text);
}

size_t text_width(const char *z)
{
	size_t n = 0;

	for (; *z; z++)
		n += ((unsigned char)*z & 0xc0) != 0x80;
	return n;
}

/* Returns the width of the widest cell of a column, including its title. */
static size_t column_width(const struct table *t, size_t c)
{
	size_t widest = text_width(t->columns[c].title);

	for (size_t i = c; i < t->n_cells; i += t->n_columns) {
		size_t w = text_width(t->cells[i]);

		widest = w > widest ? w : widest;
	}
	return widest;
}

/* Appends at most `room` characters of z. */
static void put_cut(struct buf *out, const char *z, size_t room)
{
	size_t n = 0;

	for (; *z; z++) {
		n += ((unsigned char)*z & 0xc0) != 0x80;
		if (n > room)
			return;
		buf_ch(out, *z);
	}
}

static void put_blanks(struct buf *out, size_t n)
{
	while (n-- > 0)
		buf_ch(out, ' ');
}

/* Appends one line; row is NULL for the titles. */
static void put_line(const struct table *t, const size_t *widths, char *const *row, struct buf *out, size_t width)
{
	size_t used = 0, room = width ? width : SIZE_MAX;

	for (size_t c = 0; c < t->n_columns; c++) {
		const char *z = row ? row[c] : t->columns[c].title;
		size_t w = text_width(z), pad = widths[c] - w;
		bool last = c + 1 == t->n_columns;

		if (used >= room)
			return;
		size_t before = t->columns[c].right ? pad : 0, after = last ? 0 : (t->columns[c].right ? 0 : pad) + GAP;
		put_blanks(out, before < room - used ? before : room - used);
		used += before;
		if (used >= room)
			return;
		put_cut(out, z, room - used);
		used += w;
		if (used >= room)
			return;
		put_blanks(out, after < room - used ? after : room - used);
		used += after;
	}
}

void table_put(const struct table *t, struct buf *out, size_t first, size_t count, size_t width, const char *eol)
{
	autofree size_t *widths = calloc(t->n_columns, sizeof(*widths));
	size_t rows = t->n_columns ? t->n_cells / t->n_columns : 0;

	if (!widths || t->bad) {
		out->bad = true;
		return;
	}
	for (size_t c = 0; c < t->n_columns; c++)
		widths[c] = column_width(t, c);
	put_line(t, widths, NULL, out, width);
	buf_z(out, eol);
	for (size_t r = first; r < rows && r - first < count; r++) {
		put_line(t, widths, t->cells + r * t->n_columns, out, width);
		buf_z(out, eol);
	}
}

int table_print(const struct table *t)
{
	autobuf struct buf out = BUF_INIT(TABLE_MAX);

	table_put(t, &out, 0, SIZE_MAX, 0, "\n");
	if (out.bad)
		return fail("out of memory");
	(void)fwrite(out.p, 1, out.n, stdout);
	return 0;
}
