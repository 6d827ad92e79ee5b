/* SPDX-License-Identifier: Apache-2.0 */
/* cli/table: layout of rows. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/table.h"
#include "unit.h"

static const struct column columns[] = { { "NAME", false }, { "SIZE", true }, { "NOTE", false } };

static void put(const char *const *cells, size_t n, size_t first, size_t count, size_t width, const char *want)
{
	struct table t = TABLE_INIT(columns);
	struct buf out = BUF_INIT(4096);

	for (size_t i = 0; i < n; i++)
		table_add(&t, cells[i]);
	table_put(&t, &out, first, count, width, "\n");
	assert_string_equal(buf_cstr(&out), want);
	buf_done(&out);
	table_done(&t);
}

static const char *const cells[] = { "a", "1", "x y", "longer", "12345", NULL, "\xc3\xa9\xc3\xa9", "7", "z" };

static void columns_are_as_wide_as_what_is_in_them(void **state)
{
	(void)state;
	put(cells, 9, 0, 99, 0,
	    "NAME     SIZE  NOTE\n"
	    "a           1  x y\n"
	    "longer  12345  -\n"
	    "\xc3\xa9\xc3\xa9          7  z\n");
	put(NULL, 0, 0, 99, 0, "NAME  SIZE  NOTE\n");
}

static void some_rows_can_be_chosen(void **state)
{
	(void)state;
	put(cells, 9, 1, 1, 0, "NAME     SIZE  NOTE\nlonger  12345  -\n");
	put(cells, 9, 3, 1, 0, "NAME     SIZE  NOTE\n");
}

static void lines_are_cut_at_the_screen(void **state)
{
	(void)state;
	put(cells, 9, 0, 2, 10, "NAME     S\na         \nlonger  12\n");
	put(cells, 9, 0, 1, 1, "N\na\n");
	put(cells, 9, 2, 1, 1, "N\n\xc3\xa9\n");
	put(cells, 9, 0, 1, 16, "NAME     SIZE  N\na           1  x\n");
}

static void cells_cannot_break_lines(void **state)
{
	struct table t = TABLE_INIT(columns);

	(void)state;
	table_addf(&t, "%s\n%d", "a\033", 5);
	assert_string_equal(t.cells[0], "a??5");
	table_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_as_wide_as_what_is_in_them),
		cmocka_unit_test(some_rows_can_be_chosen),
		cmocka_unit_test(lines_are_cut_at_the_screen),
		cmocka_unit_test(cells_cannot_break_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
