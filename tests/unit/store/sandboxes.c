/* SPDX-License-Identifier: Apache-2.0 */
/* Units of store/sandboxes and store/db: what is written is found again after a restart. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <unistd.h>

#include "store/db.h"
#include "store/sandboxes.h"
#include "unit.h"

static char dir[] = "/tmp/atoll-store-XXXXXX";
static char path[64];
static struct store *s;
static struct err e;

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	(void)snprintf(path, sizeof path, "%s/atoll.db", dir);
	return store_open(path, &s, &e);
}

static int tear_down(void **state)
{
	(void)state;
	store_close(s);
	(void)unlink(path);
	return rmdir(dir);
}

static struct sandbox_row row(const char *id)
{
	return (struct sandbox_row) {
		.id = id,
		.team = "t",
		.template_id = "ti",
		.template_name = "base",
		.template_key = "k",
		.build = "b-1",
		.created_ms = 5,
		.started_us = 6,
		.end_ms = 7,
		.timeout_s = 300,
		.flags = 3,
		.key = "k7",
		.sent_bytes = 77,
		.limits = { UINT64_C(1) << 40, 9, 10, 11, 12, 13, 2000, 512, 14, 15 },
		.envd_token = "secret",
		.metadata = "{\"a\":\"b\"}",
		.env_vars = "{}",
	};
}

static struct sandbox_row seen;
static char seen_id[32], seen_token[32], seen_metadata[32], seen_kept[32], seen_build[32];
static int n_seen;

static int look(void *user, const struct sandbox_row *r)
{
	(void)user;
	seen = *r;
	(void)snprintf(seen_id, sizeof seen_id, "%s", r->id);
	(void)snprintf(seen_token, sizeof seen_token, "%s", r->envd_token ? r->envd_token : "(null)");
	(void)snprintf(seen_metadata, sizeof seen_metadata, "%s", r->metadata ? r->metadata : "(null)");
	(void)snprintf(seen_kept, sizeof seen_kept, "%s", r->kept_name ? r->kept_name : "");
	(void)snprintf(seen_build, sizeof seen_build, "%s", r->build ? r->build : "(null)");
	n_seen++;
	return 0;
}

static int each(void)
{
	n_seen = 0;
	assert_int_equal(sandboxes_each(s, look, NULL, &e), 0);
	return n_seen;
}

static void reopen(void)
{
	store_close(s);
	assert_int_equal(store_open(path, &s, &e), 0);
}

static void rows_survive_a_restart(void **state)
{
	struct sandbox_row r = row("i1");

	(void)state;
	assert_int_equal(sandboxes_add(s, &r, &e), 0);
	struct sandbox_row now = {
		.id = "i1",
		.state = ROW_PAUSED,
		.started_us = 60,
		.end_ms = 70,
		.flags = 5,
		.kept_name = "k1",
		.kept = 3,
	};

	assert_int_equal(sandboxes_set(s, &now, &e), 0);
	reopen();
	assert_int_equal(each(), 1);
	assert_string_equal(seen_id, "i1");
	assert_string_equal(seen_token, "secret");
	assert_string_equal(seen_metadata, "{\"a\":\"b\"}");
	assert_string_equal(seen_kept, "k1");
	assert_string_equal(seen_build, "b-1");
	assert_int_equal(seen.kept, 3);
	assert_int_equal(seen.state, ROW_PAUSED);
	assert_int_equal(seen.started_us, 60);
	assert_int_equal(seen.end_ms, 70);
	assert_int_equal(seen.flags, 5);
	assert_true(seen.limits.mem_bytes == UINT64_C(1) << 40);
	assert_int_equal(seen.limits.swap_bytes, 10);
	assert_int_equal(seen.limits.egress_bytes_s, 13);
	assert_int_equal(seen.limits.open_files, 15);
	assert_null(seen.network);
}

static void an_id_is_taken_once(void **state)
{
	struct sandbox_row r = row("i1");

	(void)state;
	assert_true(sandboxes_add(s, &r, &e) < 0);
	r.team = NULL;
	r.id = "i9";
	assert_true(sandboxes_add(s, &r, &e) < 0);
	assert_int_equal(sandboxes_set(s, &(struct sandbox_row) { .id = "i9", .state = ROW_RUNNING }, &e), -ENOENT);
}

static void ended_ones_are_history(void **state)
{
	(void)state;
	assert_int_equal(sandboxes_end(s, "i1", 1000, "killed", &e), 0);
	assert_int_equal(sandboxes_end(s, "i1", 1000, "killed", &e), -ENOENT);
	assert_int_equal(sandboxes_set(s, &(struct sandbox_row) { .id = "i1", .state = ROW_RUNNING }, &e), -ENOENT);
	assert_int_equal(each(), 0);
	assert_int_equal(sandboxes_prune(s, 1000, &e), 0);
	assert_int_equal(sandboxes_prune(s, 1001, &e), 1);
}

static void a_newer_file_is_refused(void **state)
{
	sqlite3 *db;
	char back[40];
	int version = store_version(s);

	(void)state;
	assert_true(version >= 3);
	(void)snprintf(back, sizeof back, "PRAGMA user_version=%d", version);
	store_close(s);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA user_version=99", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(store_open(path, &s, &e), -EPROTO);
	assert_int_equal(sqlite3_exec(db, back, NULL, NULL, NULL), SQLITE_OK);
	(void)sqlite3_close(db);
	assert_int_equal(store_open(path, &s, &e), 0);
}

static void a_foreign_file_is_refused(void **state)
{
	char junk[80];
	struct store *other;
	FILE *f;

	(void)state;
	(void)snprintf(junk, sizeof junk, "%s/junk.db", dir);
	f = fopen(junk, "w");
	assert_non_null(f);
	for (int i = 0; i < 300; i++)
		(void)fputs("not a database ", f);
	(void)fclose(f);
	assert_true(store_open(junk, &other, &e) < 0);
	(void)unlink(junk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_survive_a_restart),
		cmocka_unit_test(an_id_is_taken_once),
		cmocka_unit_test(ended_ones_are_history),
		cmocka_unit_test(a_newer_file_is_refused),
		cmocka_unit_test(a_foreign_file_is_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
