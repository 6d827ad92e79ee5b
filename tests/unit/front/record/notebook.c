/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/record/notebook: the sizes that are known during a transaction are those of the rows afterwards. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "front/link/links.h"
#include "front/record/facts.h"
#include "front/record/notebook.h"
#include "front/record/records.h"
#include "ipc/msg.h"
#include "loop/loop.h"
#include "store/db.h"
#include "store/notebooks.h"
#include "unit.h"

#define MANY 200 /* notebooks at a time: several times more than there are known sizes */

static char dir[] = "/tmp/atoll-notebook-XXXXXX";
static struct links links;
static struct records rs = { .link = &links };
static struct err e;

static int set_up(void **state)
{
	(void)state;
	links = (struct links) { .opt = { .notebook_mb = 1, .notebooks_kept_s = 60, .notebooks_max_mb = 64 } };
	links.loop = loop_new();
	return notebooks_new(&rs, dir, &e);
}

static int tear_down(void **state)
{
	static const char *const ends[] = { "", "-wal", "-shm" };
	char path[80];

	(void)state;
	notebooks_free(&rs);
	loop_free(links.loop);
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		(void)snprintf(path, sizeof path, "%s/notebooks.db%s", dir, ends[i]);
		(void)unlink(path);
	}
	return 0;
}

static const char *id_of(unsigned i)
{
	static char id[ID_SIZE];

	(void)snprintf(id, sizeof id, "i%019u", i);
	return id;
}

/* Returns the number that it got. */
static uint64_t add(const char *id, size_t n_code, size_t n_output, bool *ret_cut)
{
	static char bytes[2 << 20];
	const struct sandbox_facts sb = { .id = id, .team = "t" };
	struct cell_row c = { .context = "", .language = "python", .outcome = "ok" };

	memset(bytes, 'x', sizeof bytes);
	c.code = (struct str) { bytes, n_code };
	c.output = (struct str) { bytes, n_output };
	notebook_add(&rs, &sb, &c);
	if (ret_cut)
		*ret_cut = c.cut;
	return c.n;
}

static void assert_size(const char *id, uint64_t bytes, uint64_t cells)
{
	uint64_t got_bytes = 0, got_cells = 0;

	assert_int_equal(notebooks_size(notebook_db(&rs), id, &got_bytes, &got_cells, &e), 0);
	assert_int_equal(got_bytes, bytes);
	assert_int_equal(got_cells, cells);
}

static unsigned cells_of(const char *id)
{
	struct cell_row c;
	unsigned n = 0;

	while (notebooks_next(notebook_db(&rs), id, NULL, n, &c, &e) == 1)
		assert_int_equal(c.n, ++n);
	return n;
}

static void cells_of_many_notebooks_are_counted_in_turn(void **state)
{
	(void)state;
	for (unsigned turn = 1; turn <= 5; turn++) {
		for (unsigned i = 0; i < MANY; i++)
			assert_int_equal(add(id_of(i), i, turn, NULL), turn);
	}
	notebook_save(&rs);
	for (unsigned i = 0; i < MANY; i++) {
		assert_size(id_of(i), 5ull * i + 1 + 2 + 3 + 4 + 5, 5);
		assert_int_equal(cells_of(id_of(i)), 5);
	}
}

static void counting_goes_on_after_a_commit(void **state)
{
	(void)state;
	for (uint64_t n = 1; n <= 9; n++) {
		assert_int_equal(add("ione", 3, 4, NULL), n);
		if (n % 2 == 0)
			notebook_save(&rs);
	}
	notebooks_free(&rs);
	assert_int_equal(notebooks_new(&rs, dir, &e), 0);
	assert_size("ione", 9 * 7, 9);
	assert_int_equal(add("ione", 1, 1, NULL), 10);
	notebook_save(&rs);
	assert_size("ione", 9 * 7 + 2, 10);
}

/* What no row has yet counts, too. */
static void the_limit_holds_within_a_transaction(void **state)
{
	enum { K = 1024 };
	struct notebook_head head;
	bool cut;

	(void)state;
	assert_int_equal(add("ione", 100 * K, 300 * K, &cut), 1);
	assert_false(cut);
	assert_int_equal(add("ione", 100 * K, 300 * K, &cut), 2);
	assert_false(cut);
	assert_int_equal(add("ione", 100 * K, 300 * K, &cut), 3); /* 1200 KiB: without its output */
	assert_true(cut);
	assert_int_equal(add("ione", 200 * K, 0, &cut), 0); /* 1100 KiB: not at all */
	assert_int_equal(add("ione", 124 * K, 0, &cut), 4); /* to the last byte */
	assert_int_equal(add("ione", 1, 0, &cut), 0);
	assert_int_equal(add("itwo", 100 * K, 300 * K, &cut), 1); /* another notebook */
	assert_false(cut);
	notebook_save(&rs);
	assert_size("ione", 1024 * K, 4);
	assert_int_equal(notebooks_find(notebook_db(&rs), "ione", "t", &head, &e), 0);
	assert_int_equal(head.missed, 2);
	assert_int_equal(add("ione", 1, 0, &cut), 0);
}

static void a_notebook_that_ends_keeps_what_was_added(void **state)
{
	const struct sandbox_facts sb = { .id = "ione", .team = "t" };
	struct notebook_head head;

	(void)state;
	for (uint64_t n = 1; n <= 3; n++)
		assert_int_equal(add("ione", 5, 5, NULL), n);
	notebook_end(&rs, &sb);
	notebook_save(&rs);
	assert_size("ione", 30, 3);
	assert_int_equal(notebooks_find(notebook_db(&rs), "ione", "t", &head, &e), 0);
	assert_int_equal(head.cells, 3);
	assert_true(head.ended_ms > 0);
}

#define NOTEBOOK_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		NOTEBOOK_TEST(cells_of_many_notebooks_are_counted_in_turn),
		NOTEBOOK_TEST(counting_goes_on_after_a_commit),
		NOTEBOOK_TEST(the_limit_holds_within_a_transaction),
		NOTEBOOK_TEST(a_notebook_that_ends_keeps_what_was_added),
	};

	if (!mkdtemp(dir))
		return 1;
	int r = cmocka_run_group_tests(tests, NULL, NULL);

	(void)rmdir(dir);
	return r;
}
