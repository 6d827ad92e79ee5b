/* SPDX-License-Identifier: Apache-2.0 */
/* Units of store/uploads: pieces come back as they were sent, what is unfinished is not found, the oldest goes
 * first. */
#include "store/uploads.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/db.h"
#include "unit.h"

static char dir[] = "/tmp/atoll-unit-XXXXXX", path[64];
static struct store *s;
static struct err e;

static uint64_t send_of(const char *team, const char *hash, const char *text, uint64_t ms, bool finish)
{
	uint64_t id;

	assert_int_equal(uploads_begin(s, team, hash, ms, &id, &e), 0);
	assert_int_equal(uploads_put(s, id, 0, text, strlen(text), &e), 0);
	assert_int_equal(uploads_put(s, id, 1, "end", 3, &e), 0);
	if (finish)
		assert_int_equal(uploads_finish(s, id, strlen(text) + 3, &e), 0);
	return id;
}

static uint64_t send_one(const char *hash, const char *text, uint64_t ms, bool finish)
{
	return send_of("team", hash, text, ms, finish);
}

static void pieces_come_back(void **state)
{
	uint64_t id = send_one("a", "hello", 1, false), found, bytes;
	struct buf out = BUF_INIT(100);

	(void)state;
	assert_int_equal(uploads_find(s, "team", "a", 2, &found, &bytes, &e), -ENOENT);
	assert_int_equal(uploads_finish(s, id, 8, &e), 0);
	assert_int_equal(uploads_find(s, "team", "a", 2, &found, &bytes, &e), 0);
	assert_int_equal(found, id);
	assert_int_equal(bytes, 8);
	assert_int_equal(uploads_find(s, "other", "a", 2, &found, &bytes, &e), -ENOENT);
	assert_int_equal(uploads_read(s, id, 0, &out, &e), 0);
	assert_int_equal(uploads_read(s, id, 1, &out, &e), 0);
	assert_string_equal(buf_cstr(&out), "helloend");
	assert_int_equal(uploads_read(s, id, 2, &out, &e), -ENOENT);
	buf_done(&out);
}

static void a_second_one_takes_the_place_of_the_first(void **state)
{
	uint64_t id = send_one("a", "again", 3, true), found, bytes;

	(void)state;
	assert_int_equal(uploads_find(s, "team", "a", 4, &found, &bytes, &e), 0);
	assert_int_equal(found, id);
	assert_int_equal(uploads_sum(s, &bytes, &e), 0);
	assert_int_equal(bytes, 8 + UPLOAD_OVERHEAD);
}

static void the_one_used_longest_ago_goes_first(void **state)
{
	uint64_t found, bytes;

	(void)state;
	(void)send_one("b", "bbbbb", 1, true);
	assert_int_equal(uploads_trim(s, 8 + UPLOAD_OVERHEAD, &e), 1);
	assert_int_equal(uploads_find(s, "team", "b", 5, &found, &bytes, &e), -ENOENT);
	assert_int_equal(uploads_find(s, "team", "a", 5, &found, &bytes, &e), 0);
}

/* W6 */
static void what_is_unfinished_counts(void **state)
{
	uint64_t before, bytes, found, id = send_one("u", "0123456789", 1, false);

	(void)state;
	assert_int_equal(uploads_sum(s, &bytes, &e), 0);
	before = bytes;
	assert_int_equal(uploads_put(s, id, 2, "more", 4, &e), 0);
	assert_int_equal(uploads_sum(s, &bytes, &e), 0);
	assert_int_equal(bytes, before + 4);
	assert_int_equal(uploads_fit(s, bytes, &e), 0);
	assert_int_equal(uploads_find(s, "team", "a", 6, &found, &bytes, &e), 0);
	assert_int_equal(uploads_fit(s, 17 + UPLOAD_OVERHEAD, &e), 0); /* finished ones make room, */
	assert_int_equal(uploads_find(s, "team", "a", 6, &found, &bytes, &e), -ENOENT);
	assert_int_equal(uploads_fit(s, 16 + UPLOAD_OVERHEAD, &e), -ENOSPC); /* unfinished ones do not */
	assert_int_equal(uploads_drop(s, id, &e), 0);
	assert_int_equal(uploads_sum(s, &bytes, &e), 0);
	assert_int_equal(bytes, 0);
}

/* W6: whoever sends much pushes out his own. */
static void the_team_that_has_most_goes_first(void **state)
{
	uint64_t found, bytes;

	(void)state;
	(void)send_of("small", "s", "few", 1, true);
	for (uint64_t i = 2; i < 5; i++) {
		char hash[2] = { (char)('0' + i), '\0' };

		(void)send_of("large", hash, "0123456789", i, true);
	}
	assert_int_equal(uploads_trim(s, 6 + 2 * 13 + 3 * UPLOAD_OVERHEAD, &e), 1);
	assert_int_equal(uploads_find(s, "small", "s", 5, &found, &bytes, &e), 0);
	assert_int_equal(uploads_find(s, "large", "2", 5, &found, &bytes, &e), -ENOENT);
	assert_int_equal(uploads_find(s, "large", "4", 5, &found, &bytes, &e), 0);
	assert_int_equal(uploads_trim(s, 0, &e), 3);
}

static void what_was_cut_off_is_gone_after_a_restart(void **state)
{
	uint64_t id = send_one("c", "ccccc", 1, false);
	struct buf out = BUF_INIT(100);

	(void)state;
	store_close(s);
	assert_int_equal(uploads_open(path, &s, &e), 0);
	assert_int_equal(uploads_read(s, id, 0, &out, &e), -ENOENT);
	buf_done(&out);
}

static void a_damaged_file_is_made_anew(void **state)
{
	uint64_t bytes;
	FILE *f;

	(void)state;
	store_close(s);
	f = fopen(path, "w");
	assert_non_null(f);
	for (int i = 0; i < 1000; i++)
		(void)fputs("this is not a database", f);
	(void)fclose(f);
	assert_int_equal(uploads_open(path, &s, &e), 0);
	assert_int_equal(uploads_sum(s, &bytes, &e), 0);
	assert_int_equal(bytes, 0);
	char aside[128];

	(void)snprintf(aside, sizeof aside, "%s.damaged", path); /* for whoever wants to look at it */
	assert_int_equal(unlink(aside), 0);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	(void)snprintf(path, sizeof path, "%s/uploads.db", dir);
	return uploads_open(path, &s, &e);
}

static int tear_down(void **state)
{
	(void)state;
	store_close(s);
	(void)unlink(path);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_come_back),
		cmocka_unit_test(a_second_one_takes_the_place_of_the_first),
		cmocka_unit_test(the_one_used_longest_ago_goes_first),
		cmocka_unit_test(what_is_unfinished_counts),
		cmocka_unit_test(the_team_that_has_most_goes_first),
		cmocka_unit_test(what_was_cut_off_is_gone_after_a_restart),
		cmocka_unit_test(a_damaged_file_is_made_anew),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
