/* SPDX-License-Identifier: Apache-2.0 */
/* store/meter: the table meter. */
#include "store/meter.h"

#include "store/db_stmt.h"

static const char add_sql[] =
    "INSERT INTO meter(sandbox, day, team, key, template, metadata, running_ms, cpu_permille_ms, mib_ms, until_ms, "
    "sent_bytes) "
    "VALUES(?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET running_ms=running_ms+excluded.running_ms, "
    "cpu_permille_ms=cpu_permille_ms+excluded.cpu_permille_ms, mib_ms=mib_ms+excluded.mib_ms, "
    "until_ms=excluded.until_ms, "
    "sent_bytes=sent_bytes+excluded.sent_bytes";
static const char last_sql[] = "SELECT until_ms FROM meter WHERE sandbox=? ORDER BY day DESC LIMIT 1";
static const char sent_sql[] = "SELECT coalesce(sum(sent_bytes), 0) FROM meter WHERE sandbox=?";
static const char add_sent_sql[] =
    "UPDATE meter SET sent_bytes=sent_bytes+?2 WHERE sandbox=?1 AND day=(SELECT max(day) FROM meter WHERE sandbox=?1)";
static const char each_sql[] = "SELECT sandbox, day, team, key, template, metadata, running_ms, cpu_permille_ms, "
			       "mib_ms, until_ms, sent_bytes FROM meter "
			       "WHERE day BETWEEN ?2 AND ?3 AND (?1 IS NULL OR team=?1) ORDER BY sandbox, day LIMIT ?4";
static const char prune_sql[] = "DELETE FROM meter WHERE (sandbox, day) IN (SELECT sandbox, day FROM meter WHERE day<? "
				"ORDER BY day LIMIT " STMT_TEXT(STORE_BATCH) ")";

int meter_add(struct store *s, const struct meter_row *row, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, add_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, row->sandbox);
	stmt_u64(st, 2, row->day);
	stmt_text(st, 3, row->team);
	stmt_text(st, 4, row->key);
	stmt_text(st, 5, row->template);
	stmt_text(st, 6, row->metadata);
	stmt_u64(st, 7, row->running_ms);
	stmt_u64(st, 8, row->cpu_permille_ms);
	stmt_u64(st, 9, row->mib_ms);
	stmt_u64(st, 10, row->until_ms);
	stmt_u64(st, 11, row->sent_bytes);
	return stmt_run(s, st, e);
}

int meter_last(struct store *s, const char *sandbox, uint64_t *ret_until_ms, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, last_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, sandbox);
	int r = stmt_next(s, st, e);
	if (r == 1) {
		*ret_until_ms = stmt_col_u64(st, 0);
		(void)sqlite3_reset(st);
	}
	return r;
}

int meter_sent_total(struct store *s, const char *sandbox, uint64_t *ret_bytes, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, sent_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, sandbox);
	int r = stmt_next(s, st, e);
	if (r == 1) {
		*ret_bytes = stmt_col_u64(st, 0);
		(void)sqlite3_reset(st);
	}
	return r < 0 ? r : 0;
}

int meter_add_sent(struct store *s, const char *sandbox, uint64_t bytes, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, add_sent_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, sandbox);
	stmt_u64(st, 2, bytes);
	return stmt_run(s, st, e);
}

int meter_each(struct store *s, const char *team, uint64_t first, uint64_t last, size_t max,
    void (*fn)(void *user, const struct meter_row *row), void *user, struct err *e)
{
	sqlite3_stmt *st;
	int r;

	if (stmt_get(s, each_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, team);
	stmt_u64(st, 2, first);
	stmt_u64(st, 3, last);
	stmt_u64(st, 4, max);
	while ((r = stmt_next(s, st, e)) == 1) {
		struct meter_row row = {
			.sandbox = stmt_col_text(st, 0),
			.day = stmt_col_u64(st, 1),
			.team = stmt_col_text(st, 2),
			.key = stmt_col_text(st, 3),
			.template = stmt_col_text(st, 4),
			.metadata = stmt_col_text(st, 5),
			.running_ms = stmt_col_u64(st, 6),
			.cpu_permille_ms = stmt_col_u64(st, 7),
			.mib_ms = stmt_col_u64(st, 8),
			.until_ms = stmt_col_u64(st, 9),
			.sent_bytes = stmt_col_u64(st, 10),
		};

		fn(user, &row);
	}
	return r;
}

int meter_prune(struct store *s, uint64_t before_day, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, prune_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, before_day);
	return stmt_run(s, st, e);
}
