/* SPDX-License-Identifier: Apache-2.0 */
/* store/purge: deletes all data of a team in small steps.
 *
 * No client is served while a statement runs, and there may be millions of rows, of this team or of others. So
 * each statement handles a few of them. Where an index finds the rows of a team, it deletes the next of those.
 * Elsewhere it walks the whole table in the order of its key, some keys at a time, whichever team they belong
 * to. */
#include "store/purge.h"

#include "base/clock.h"
#include "base/str.h"
#include "store/db.h"
#include "store/db_stmt.h"

static const char secrets_sql[] =
    "DELETE FROM secrets WHERE rowid IN (SELECT rowid FROM secrets WHERE team=? LIMIT " STMT_TEXT(STORE_BATCH) ")";
static const char deliveries_sql[] = "DELETE FROM deliveries WHERE seq IN (SELECT d.seq FROM webhooks w JOIN "
				     "deliveries d ON d.webhook=w.id WHERE w.team=? LIMIT " STMT_TEXT(STORE_BATCH) ")";
static const char webhooks_sql[] =
    "DELETE FROM webhooks WHERE rowid IN (SELECT rowid FROM webhooks WHERE team=? LIMIT " STMT_TEXT(STORE_BATCH) ")";
static const char events_sql[] =
    "DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE team=? LIMIT " STMT_TEXT(STORE_BATCH) ")";
static const char points_sql[] =
    "DELETE FROM team_points WHERE team=?1 AND at_s IN (SELECT at_s FROM team_points WHERE team=?1 LIMIT " STMT_TEXT(
	STORE_BATCH) ")";

static const char sandboxes_next_sql[] =
    "SELECT max(id) FROM (SELECT id FROM sandboxes WHERE id>? ORDER BY id LIMIT " STMT_TEXT(STORE_BATCH) ")";
static const char sandboxes_sql[] = "DELETE FROM sandboxes WHERE team=? AND id>? AND id<=? AND state=3";
static const char logs_next_sql[] = "SELECT max(id) FROM (SELECT id FROM logs WHERE id>? ORDER BY id LIMIT " STMT_TEXT(
    STORE_BATCH_LOGS) ")";
static const char logs_sql[] = "DELETE FROM logs WHERE team=? AND id>? AND id<=? AND ended_ms IS NOT NULL";
static const char meter_next_sql[] =
    "SELECT max(sandbox) FROM (SELECT sandbox FROM meter WHERE sandbox>? ORDER BY sandbox LIMIT " STMT_TEXT(
	STORE_BATCH) ")";
static const char meter_sql[] = "DELETE FROM meter WHERE team=? AND sandbox>? AND sandbox<=?";

static const char begin_sql[] = "BEGIN";
static const char commit_sql[] = "COMMIT";
static const char back_sql[] = "ROLLBACK";
static const char overwrite_sql[] = "PRAGMA secure_delete=ON";
static const char leave_sql[] = "PRAGMA secure_delete=OFF";
static const char empty_log_sql[] = "PRAGMA wal_checkpoint(TRUNCATE)";

static const struct {
	const char *drop, *next;
} steps[] = {
	/* next: for tables that have to be walked */
	[PURGE_SECRETS] = { .drop = secrets_sql },
	[PURGE_SANDBOXES] = { .drop = sandboxes_sql, .next = sandboxes_next_sql },
	[PURGE_LOGS] = { .drop = logs_sql, .next = logs_next_sql },
	[PURGE_POINTS] = { .drop = points_sql },
	[PURGE_METER] = { .drop = meter_sql, .next = meter_next_sql },
	[PURGE_DELIVERIES] = { .drop = deliveries_sql },
	[PURGE_WEBHOOKS] = { .drop = webhooks_sql },
	[PURGE_EVENTS] = { .drop = events_sql },
};

/* Runs a statement and ignores its rows. */
static int run_plain(struct store *s, const char *sql, struct err *e)
{
	sqlite3_stmt *st;
	int r = stmt_get(s, sql, &st, e);

	while (r >= 0 && (r = stmt_next(s, st, e)) == 1)
		;
	return r;
}

/* The key up to which the next statement looks; 0: the end of the table. */
static int find_next(struct store *s, const struct purge *p, char ret[PURGE_KEY_SIZE], struct err *e)
{
	sqlite3_stmt *st;
	int r = stmt_get(s, steps[p->step].next, &st, e);

	if (r < 0)
		return r;
	stmt_text(st, 1, p->after);
	r = stmt_next(s, st, e);
	if (r < 0)
		return r;
	const char *at = r == 1 ? stmt_col_text(st, 0) : NULL;

	r = at != NULL;
	if (at && !str_copy(ret, PURGE_KEY_SIZE, str_of(at)))
		r = err_set(e, EIO, "state file: an id is too long");
	(void)sqlite3_reset(st);
	return r;
}

/* 0: this table is done. */
static int take_some(struct store *s, const char *team, struct purge *p, struct err *e)
{
	char until[PURGE_KEY_SIZE];
	sqlite3_stmt *st;
	bool walks = steps[p->step].next;
	int more = walks ? find_next(s, p, until, e) : 1;

	if (more <= 0)
		return more;
	if (stmt_get(s, steps[p->step].drop, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, team);
	if (walks) {
		stmt_text(st, 2, p->after);
		stmt_text(st, 3, until);
	}
	int n = stmt_run(s, st, e);

	if (n < 0)
		return n;
	p->rows[p->step] += n;
	if (walks)
		memcpy(p->after, until, sizeof until);
	return walks || n > 0;
}

static int take_until(struct store *s, const char *team, uint64_t until_ms, struct purge *p, struct err *e)
{
	do {
		int more = take_some(s, team, p, e);

		if (more < 0)
			return more;
		if (more == 0) {
			p->step++;
			p->after[0] = '\0';
		}
	} while (p->step < PURGE_STEPS && clock_mono_ms() < until_ms);
	return 0;
}

int purge_team_some(struct store *s, const char *team, uint64_t max_ms, struct purge *p, struct err *e)
{
	struct purge was = *p;
	struct err ignored;

	if (p->step == PURGE_STEPS)
		return 0;
	if (run_plain(s, overwrite_sql, e) < 0 || store_durable(s, true, e) < 0)
		return -e->no;
	if (run_plain(s, begin_sql, e) == 0 &&
	    (take_until(s, team, clock_mono_ms() + max_ms, p, e) < 0 || run_plain(s, commit_sql, e) < 0)) {
		*p = was;
		(void)run_plain(s, back_sql, &ignored);
	}
	if (!e->no && p->step == PURGE_STEPS)
		(void)run_plain(s, empty_log_sql, e);
	(void)store_durable(s, false, &ignored);
	(void)run_plain(s, leave_sql, &ignored);
	return e->no ? -e->no : p->step < PURGE_STEPS;
}
