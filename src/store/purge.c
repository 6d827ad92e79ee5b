/* SPDX-License-Identifier: Apache-2.0 */
/* store/purge: forgetting all that is known of a team. */
#include "store/purge.h"

#include "store/db_stmt.h"

static const char sandboxes_sql[] = "DELETE FROM sandboxes WHERE team=? AND state=3";
static const char logs_sql[] = "DELETE FROM logs WHERE team=? AND ended_ms IS NOT NULL";
static const char points_sql[] = "DELETE FROM team_points WHERE team=?";
static const char meter_sql[] = "DELETE FROM meter WHERE team=?";
static const char events_sql[] = "DELETE FROM events WHERE team=?";
static const char webhooks_sql[] = "DELETE FROM webhooks WHERE team=?";
static const char secrets_sql[] = "DELETE FROM secrets WHERE team=?";
static const char overwrite_sql[] = "PRAGMA secure_delete=ON";
static const char leave_sql[] = "PRAGMA secure_delete=OFF";
static const char empty_log_sql[] = "PRAGMA wal_checkpoint(TRUNCATE)";

/* A statement that may give rows, which do not matter. */
static int run_plain(struct store *s, const char *sql, struct err *e)
{
	sqlite3_stmt *st;
	int r = stmt_get(s, sql, &st, e);

	while (r >= 0 && (r = stmt_next(s, st, e)) == 1)
		;
	return r;
}

static int drop_rows(struct store *s, const char *sql, const char *team, int64_t *ret, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, team);
	int n = stmt_run(s, st, e);

	*ret = n;
	return n < 0 ? n : 0;
}

int purge_team(struct store *s, const char *team, struct purged *ret, struct err *e)
{
	struct err ignored;
	int64_t rest;

	if (run_plain(s, overwrite_sql, e) < 0 || store_durable(s, true, e) < 0)
		return -e->no;
	if (drop_rows(s, secrets_sql, team, &ret->secrets, e) == 0 && drop_rows(s, sandboxes_sql, team, &ret->sandboxes, e) == 0 &&
	    drop_rows(s, logs_sql, team, &ret->logs, e) == 0 && drop_rows(s, points_sql, team, &rest, e) == 0 &&
	    drop_rows(s, meter_sql, team, &rest, e) == 0 && drop_rows(s, webhooks_sql, team, &ret->webhooks, e) == 0 &&
	    drop_rows(s, events_sql, team, &ret->events, e) == 0)
		(void)run_plain(s, empty_log_sql, e);
	(void)store_durable(s, false, &ignored);
	(void)run_plain(s, leave_sql, &ignored);
	return -e->no;
}
