/* SPDX-License-Identifier: Apache-2.0 */
/* Units of store/db: a state file of each version that there has been becomes one of today, with all that was in it. */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "store/db.h"
#include "store/sandboxes.h"
#include "unit.h"

#define SQL_MAX 65536

static char path[] = "/tmp/atoll-migrate-XXXXXX";

static void remove_all(void)
{
	static const char *const tails[] = { "", "-wal", "-shm" };

	for (size_t i = 0; i < 3; i++) {
		char name[80];

		(void)snprintf(name, sizeof name, "%s%s", path, tails[i]);
		(void)unlink(name);
	}
}

static void run(const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int put_line(void *user, int n, char **v, char **names)
{
	char *out = user;
	size_t at = strlen(out);

	(void)names;
	for (int i = 0; i < n; i++)
		at += (size_t)snprintf(out + at, SQL_MAX - at, "%s|", v[i] ? v[i] : "");
	(void)snprintf(out + at, SQL_MAX - at, "\n");
	return 0;
}

static char *ask(const char *sql)
{
	char *out = calloc(1, SQL_MAX);
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, put_line, out, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	return out;
}

/* The columns of all tables and the indices, in whatever way they came to be. */
static char *schema(void)
{
	return ask("SELECT m.name, c.name, c.type, c.[notnull], c.dflt_value, c.pk FROM sqlite_master m, "
		   "pragma_table_info(m.name) c WHERE m.type='table'"
		   " ORDER BY 1, 2; SELECT name, tbl_name FROM sqlite_master WHERE type='index' ORDER BY 1");
}

static int count(void *user, const struct sandbox_row *r)
{
	assert_string_equal(r->id, "irunning");
	assert_string_equal(r->envd_token, "tok");
	assert_string_equal(r->metadata, "{\"a\":\"b\"}");
	assert_int_equal(r->limits.disk_bytes, 1073741824);
	assert_null(r->volumes);
	++*(int *)user;
	return 0;
}

static void check_content(int version)
{
	char *text = ask(
	    "SELECT id, name FROM teams; SELECT id, end_reason FROM sandboxes WHERE state=3; SELECT count(*) FROM keys;"
	    "SELECT count(*) FROM team_points; SELECT count(*) FROM log_pieces; SELECT count(*) FROM secrets; SELECT "
	    "count(*) FROM snapshots; SELECT count(*) FROM builds;"
	    "SELECT coalesce(kept_name, '') FROM sandboxes WHERE id='irunning'; PRAGMA integrity_check; PRAGMA "
	    "foreign_key_check");
	char want[256];

	(void)snprintf(want, sizeof want, "t1|default|\niended|expired|\n%d|\n%d|\n%d|\n%d|\n%d|\n%d|\n%s|\nok|\n",
	    version >= 2, version >= 3, version >= 5, version >= 6, version >= 7, version >= 8,
	    version >= 4 ? "kkept" : "");
	assert_string_equal(text, want);
	free(text);
}

static void each_version_becomes_that_of_today(void **state)
{
	struct err e = ERR_INIT;
	struct store *s;
	char file[512], *sql = malloc(SQL_MAX), *today, *got;
	int version = 1, newest;

	(void)state;
	assert_int_equal(store_open(path, &s, &e), 0);
	newest = store_version(s);
	store_close(s);
	today = schema();
	for (;; version++) {
		int rows = 0;

		(void)snprintf(file, sizeof file, UNIT_DIR "/store/schemas/%d.sql", version);
		if (file_read(AT_FDCWD, file, sql, SQL_MAX) < 0)
			break;
		remove_all();
		run(sql);
		assert_int_equal(store_open(path, &s, &e), 0);
		assert_int_equal(store_version(s), newest);
		assert_int_equal(sandboxes_each(s, count, &rows, &e), 0);
		assert_int_equal(rows, 1);
		store_close(s);
		got = schema();
		assert_string_equal(got, today);
		free(got);
		check_content(version);
	}
	assert_int_equal(version, newest); /* there is a dump of each version but the newest */
	free(today);
	free(sql);
	remove_all();
}

static void a_file_of_a_newer_version_is_refused_and_left_as_it_is(void **state)
{
	struct err e = ERR_INIT;
	struct store *s;
	char *before, *after;

	(void)state;
	assert_int_equal(store_open(path, &s, &e), 0);
	store_close(s);
	run("PRAGMA user_version=1000; CREATE TABLE of_tomorrow(x)");
	before = ask("SELECT name FROM sqlite_master; PRAGMA user_version");
	assert_int_equal(store_open(path, &s, &e), -EPROTO);
	assert_non_null(strstr(e.text, "version 1000"));
	assert_non_null(strstr(e.text, "newer atoll"));
	after = ask("SELECT name FROM sqlite_master; PRAGMA user_version");
	assert_string_equal(before, after);
	free(before);
	free(after);
	remove_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_version_becomes_that_of_today),
		cmocka_unit_test(a_file_of_a_newer_version_is_refused_and_left_as_it_is),
	};
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	(void)close(fd);
	remove_all();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
