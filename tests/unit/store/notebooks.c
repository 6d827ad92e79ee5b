/* SPDX-License-Identifier: Apache-2.0 */
/* Units of store/notebooks: what is dropped is gone at once to those who ask, and from the disk a little at a time. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fd.h"
#include "fixture.h"
#include "store/db_stmt.h"
#include "store/notebooks.h"
#include "unit.h"

#define CELLS 5
#define OUTPUT_MAX (4 << 20) /* what the front keeps of one at most */

static int open_cache(void **state)
{
	if (open_new(state) < 0)
		return -1;
	store_close(s);
	(void)unlink(path);
	return notebooks_open(path, &s, &e);
}

static void fill(const char *sandbox, const char *team, const char *word, uint64_t ended_ms)
{
	autobuf struct buf out = BUF_INIT(1 << 20);

	while (out.n < 20000)
		buf_fmt(&out, "{\"type\":\"stdout\",\"text\":\"%s\"}\n", word);
	for (uint64_t i = 1; i <= CELLS; i++) {
		struct cell_row c = { .n = i,
			.context = "c1",
			.language = "",
			.code = STR_LIT("print()"),
			.output = buf_view(&out),
			.outcome = "ok" };

		assert_true(notebooks_add(s, sandbox, team, &c, &e) >= 0);
	}
	assert_true(notebooks_context(s, sandbox, "c1", "python", &e) >= 0);
	if (ended_ms)
		assert_int_equal(notebooks_end(s, sandbox, ended_ms, &e), 1);
}

static bool is_there(const char *sandbox, const char *team)
{
	struct notebook_head h;
	int r = notebooks_find(s, sandbox, team, &h, &e);

	assert_true(r == 0 || r == -ENOENT);
	assert_true(r < 0 || h.cells == CELLS);
	return r == 0;
}

static bool on_disk(const char *word)
{
	static const char *const tails[] = { "", "-wal" };
	bool found = false;

	for (size_t i = 0; i < 2; i++) {
		autofree char *name = str_fmt("%s%s", path, tails[i]), *all = calloc(1, 8 << 20);
		ssize_t n = file_read(AT_FDCWD, name, all, 8 << 20);

		found |= n > 0 && memmem(all, (size_t)n, word, strlen(word));
	}
	return found;
}

static int rounds(void)
{
	int n = 1, r;

	while ((r = notebooks_forget_some(s, 0, &e)) == 1)
		n++;
	assert_int_equal(r, 0);
	return n;
}

static void what_was_purged_is_overwritten_cell_by_cell(void **state)
{
	(void)state;
	fill("i1", "t1", "a-word-of-the-first", 0);
	fill("i2", "t1", "a-word-of-the-first", 5000);
	fill("i3", "t2", "a-word-of-the-second", 5000);
	assert_true(is_there("i1", "t1"));
	assert_true(on_disk("a-word-of-the-first"));
	assert_int_equal(notebooks_drop_team(s, "t1", &e), 2);
	assert_false(is_there("i1", "t1") || is_there("i2", "t1"));
	assert_true(on_disk("a-word-of-the-first"));
	assert_true(rounds() >= 2 * CELLS); /* one at a time when there is no time */
	assert_false(on_disk("a-word-of-the-first"));
	assert_true(is_there("i3", "t2"));
	assert_true(on_disk("a-word-of-the-second"));
	assert_int_equal(notebooks_forget_some(s, 1000, &e), 0);
}

static void the_old_ones_and_the_oldest_go(void **state)
{
	uint64_t bytes, each;

	(void)state;
	fill("i1", "t1", "x", 1000);
	assert_int_equal(notebooks_bytes(s, &each, &e), 0);
	fill("i2", "t1", "x", 3000);
	fill("i3", "t1", "x", 2000);
	fill("i4", "t1", "x", 0);
	assert_int_equal(notebooks_drop_ended(s, 1500, &e), 1);
	assert_int_equal(notebooks_drop_ended(s, 1500, &e), 0);
	assert_int_equal(notebooks_drop_oldest(s, &e), 1);
	assert_int_equal(notebooks_bytes(s, &bytes, &e), 0);
	assert_int_equal(bytes, 2 * each); /* without those that are only not forgotten yet */
	assert_false(is_there("i1", "t1") || is_there("i3", "t1"));
	assert_true(is_there("i2", "t1") && is_there("i4", "t1"));
	assert_int_equal(notebooks_drop_oldest(s, &e), 1);
	assert_int_equal(notebooks_drop_oldest(s, &e), 0); /* one that has not ended stays */
	(void)rounds();
	assert_true(is_there("i4", "t1"));
}

static void a_crash_in_between_is_made_up_for(void **state)
{
	(void)state;
	fill("i1", "t1", "a-word-of-the-first", 1000);
	assert_int_equal(notebooks_drop_team(s, "t1", &e), 1);
	assert_int_equal(notebooks_forget_some(s, 0, &e), 1);
	store_close(s);
	assert_int_equal(notebooks_open(path, &s, &e), 0);
	(void)rounds();
	assert_false(on_disk("a-word-of-the-first"));
}

static int counted(int what)
{
	sqlite3_stmt *st;
	int now = -1, most = 0;

	assert_int_equal(stmt_get(s, "SELECT 1", &st, &e), 0);
	assert_int_equal(sqlite3_db_status(sqlite3_db_handle(st), what, &now, &most, 1), SQLITE_OK);
	return now;
}

/* The front answers nobody meanwhile: each page goes to the disk once, and there are few of them. */
static void the_largest_cell_is_written_in_one_go(void **state)
{
	autofree char *output = malloc(OUTPUT_MAX);
	struct cell_row c = { .context = "",
		.language = "",
		.code = STR_LIT("print()"),
		.output = { output, OUTPUT_MAX },
		.outcome = "ok" };

	(void)state;
	assert_non_null(output);
	memset(output, 'x', OUTPUT_MAX);
	while (c.n++ < 3) { /* also when there is something already */
		(void)counted(SQLITE_DBSTATUS_CACHE_WRITE);
		assert_int_equal(notebooks_begin(s, &e), 0);
		assert_true(notebooks_add(s, "s1", "t", &c, &e) >= 0);
		assert_int_equal(counted(SQLITE_DBSTATUS_CACHE_WRITE), 0);
		assert_int_equal(notebooks_commit(s, &e), 0);
		assert_in_range(counted(SQLITE_DBSTATUS_CACHE_WRITE), 1, OUTPUT_MAX / 16384 + 16);
		/* and its memory is given back */
		assert_in_range(counted(SQLITE_DBSTATUS_CACHE_USED), 0, OUTPUT_MAX / 16);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_was_purged_is_overwritten_cell_by_cell, open_cache, remove_it),
		cmocka_unit_test_setup_teardown(the_old_ones_and_the_oldest_go, open_cache, remove_it),
		cmocka_unit_test_setup_teardown(the_largest_cell_is_written_in_one_go, open_cache, remove_it),
		cmocka_unit_test_setup_teardown(a_crash_in_between_is_made_up_for, open_cache, remove_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
