/* SPDX-License-Identifier: Apache-2.0 */
/* Units of store/copy and store/purge: a copy of a file that is in use, what it names, and forgetting a team. */
#include "store/copy.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/db.h"
#include "store/purge.h"
#include "store/sandboxes.h"
#include "store/snapshots.h"
#include "store/volumes.h"
#include "unit.h"

static char dir[32], path[64], copy[64];
static struct store *s;
static struct err e;
static char seen[256];

static int look(void *user, enum store_part what, const char *name, uint64_t bytes)
{
	size_t n = strlen(seen);

	(void)user;
	(void)snprintf(seen + n, sizeof seen - n, "%c:%s=%llu;",
	    what == STORE_VOLUME          ? 'v'
		: what == STORE_UNWRITTEN ? 'u'
					  : 'k',
	    name, (unsigned long long)bytes);
	return 0;
}

static void add_sandbox(const char *id, const char *team, enum row_state state, const char *kept)
{
	struct sandbox_row r = { .id = id,
		.team = team,
		.template_id = "t",
		.template_name = "n",
		.template_key = "k",
		.state = state,
		.created_ms = 1,
		.kept_name = kept,
		.kept = kept ? 1 : 0 };

	assert_int_equal(sandboxes_add(s, &r, &e), 0);
}

static void a_copy_is_whole_and_names_what_belongs_to_it(void **state)
{
	struct volume_row a = { "va", "t", "a", "x", 7, VOLUME_READY, 1 },
			  b = { "vb", "t", "b", "x", 8, VOLUME_DROPPING, 1 };
	struct snapshot_row sn = { .template_id = "one",
		.tag = "default",
		.team = "t",
		.source = "i",
		.kept_name = "ksnap",
		.kept = 1,
		.base_id = "b",
		.base_name = "n",
		.base_key = "k" };
	int version = 0;

	(void)state;
	add_sandbox("irun", "t", ROW_RUNNING, NULL);
	add_sandbox("ipaused", "t", ROW_PAUSED, "kpaused");
	assert_int_equal(volumes_add(s, &a, &e), 0);
	assert_int_equal(volumes_add(s, &b, &e), 0);
	assert_int_equal(snapshots_put(s, &sn, &e), 0);
	assert_int_equal(store_copy(path, copy, &e), 0); /* while it is open */
	add_sandbox("ilater", "t", ROW_PAUSED, "klater");
	seen[0] = '\0';
	assert_int_equal(store_parts(copy, look, NULL, &version, &e), 0);
	assert_string_equal(seen, "k:kpaused=0;k:ksnap=0;v:va=7;u:ipaused=0;");
	assert_int_equal(version, store_version(s));
	assert_int_equal(store_copy(path, copy, &e), -EEXIST); /* never over anything */
	e = ERR_INIT;
}

static int count(void *user, const struct sandbox_row *r)
{
	(void)r;
	++*(int *)user;
	return 0;
}

static void a_purge_takes_the_ended_ones_of_that_team_only(void **state)
{
	struct purge gone = { 0 };
	int left = 0;

	(void)state;
	add_sandbox("i1", "t", ROW_RUNNING, NULL);
	add_sandbox("i2", "t", ROW_RUNNING, NULL);
	add_sandbox("i3", "u", ROW_RUNNING, NULL);
	assert_int_equal(sandboxes_end(s, "i1", 5, "killed", &e), 0);
	assert_int_equal(sandboxes_end(s, "i3", 5, "killed", &e), 0);
	assert_int_equal(purge_team_some(s, "t", 60000, &gone, &e), 0);
	assert_int_equal(gone.rows[PURGE_SANDBOXES], 1);
	assert_int_equal(gone.rows[PURGE_SECRETS], 0);
	assert_int_equal(sandboxes_each(s, count, &left, &e), 0);
	assert_int_equal(left, 1);
	assert_int_equal(sandboxes_prune(s, 100, &e), 1); /* that of the other team was still there */
}

/* A thousand rows of two teams in each table, in turns. */
static const char many_sql[] =
    "INSERT INTO teams(id, name, created_ms) VALUES ('t', 't', 0), ('u', 'u', 0);"
    "CREATE TEMP TABLE n AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c WHERE n<2000) SELECT n, "
    "iif(n%2, 't', 'u') AS team FROM c;"
    "INSERT INTO sandboxes(id, team, template_id, template_name, template_key, state, created_ms, started_us, end_ms, "
    "timeout_s, flags, mem_bytes,"
    " disk_bytes, cpu_permille, pids, ended_ms) SELECT 'i'||n, team, '', '', '', 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 FROM "
    "n;"
    "INSERT INTO logs SELECT 'i'||n, team, 0, 0, 0, 0, 1 FROM n;"
    "INSERT INTO log_pieces SELECT 'i'||n, 0, 0, x'00' FROM n;"
    "INSERT INTO team_points SELECT team, n, 0, 0 FROM n;"
    "INSERT INTO meter SELECT 'i'||n, 1, team, '', '', NULL, 0, 0, 0, 0, 0 FROM n;"
    "INSERT INTO secrets SELECT 's'||n, team, n, 1, x'00', '', 0, 0 FROM n;"
    "INSERT INTO webhooks SELECT 'w'||n, team, '', '', '', 1, x'00', 0 FROM n WHERE n<=300;"
    "INSERT INTO events SELECT n, n, team, '', '', 0, '', '', '', '' FROM n;"
    "INSERT INTO deliveries SELECT n, n, 'w'||(1 + n % 300), n, 1, 0, 0, 0, 0, 0, 0, '' FROM n";

static long long ask_number(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *st;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	long long n = sqlite3_column_int64(st, 0);

	(void)sqlite3_finalize(st);
	return n;
}

/* Whoever asks gets a word in between any two batches, and those of the other team are passed over, not taken. */
static void a_purge_of_many_rows_takes_many_steps(void **state)
{
	static const char *const tables[] = { "sandboxes", "logs", "log_pieces", "team_points", "meter", "secrets",
		"webhooks", "events", "deliveries" };
	struct purge p = { 0 };
	sqlite3 *db;
	int calls = 0, more;

	(void)state;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, many_sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s", sqlite3_errmsg(db));
	while ((more = purge_team_some(s, "t", 0, &p, &e)) == 1)
		calls++;
	assert_int_equal(more, 0);
	assert_true(calls >= 280);
	assert_int_equal(purge_team_some(s, "t", 0, &p, &e), 0);
	assert_int_equal(p.rows[PURGE_SANDBOXES], 1000);
	assert_int_equal(p.rows[PURGE_LOGS], 1000);
	assert_int_equal(p.rows[PURGE_METER], 1000);
	assert_int_equal(p.rows[PURGE_WEBHOOKS], 150);
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		char sql[80];

		(void)snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", tables[i]);
		assert_int_equal(ask_number(db, sql), strcmp(tables[i], "webhooks") == 0 ? 150 : 1000);
	}
	assert_int_equal(ask_number(db, "SELECT count(*) FROM sandboxes WHERE team='t'"), 0);
	assert_int_equal(ask_number(db, "SELECT count(*) FROM events WHERE team='t'"), 0);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	assert_int_equal(sandboxes_prune(s, 100, &e), STORE_BATCH); /* what is too old goes in batches as well */
}

static int open_new(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/atoll-copy-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	(void)snprintf(path, sizeof path, "%s/a.db", dir);
	(void)snprintf(copy, sizeof copy, "%s/b.db", dir);
	return store_open(path, &s, &e);
}

static int remove_it(void **state)
{
	(void)state;
	store_close(s);
	(void)unlink(path);
	(void)unlink(copy);
	return rmdir(dir); /* and no other file is left */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_copy_is_whole_and_names_what_belongs_to_it, open_new, remove_it),
		cmocka_unit_test_setup_teardown(a_purge_takes_the_ended_ones_of_that_team_only, open_new, remove_it),
		cmocka_unit_test_setup_teardown(a_purge_of_many_rows_takes_many_steps, open_new, remove_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
