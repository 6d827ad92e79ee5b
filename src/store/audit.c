/* SPDX-License-Identifier: Apache-2.0 */
/* store/audit: the tables of audit.db. */
#include "store/audit.h"

#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "store/db_stmt.h"

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS audit (seq INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, kind TEXT NOT NULL, request "
    "TEXT NOT NULL,"
    " team TEXT NOT NULL, key TEXT NOT NULL, sandbox TEXT NOT NULL, session TEXT NOT NULL, line TEXT NOT NULL) STRICT;"
    "CREATE INDEX IF NOT EXISTS audit_team ON audit(team, seq);"
    "CREATE INDEX IF NOT EXISTS audit_sandbox ON audit(sandbox, seq) WHERE sandbox<>'';"
    "CREATE TABLE IF NOT EXISTS audit_text (seq INTEGER PRIMARY KEY, team TEXT NOT NULL, text TEXT NOT NULL) STRICT;"
    "CREATE INDEX IF NOT EXISTS audit_text_team ON audit_text(team);"
    "CREATE TABLE IF NOT EXISTS audit_head (one INTEGER PRIMARY KEY CHECK(one=1), seq INTEGER NOT NULL, hash BLOB NOT "
    "NULL) STRICT;";

static const char begin_sql[] = "BEGIN";
static const char commit_sql[] = "COMMIT";
static const char rollback_sql[] = "ROLLBACK";
static const char head_set_sql[] = "INSERT INTO audit_head(one, seq, hash) VALUES(1,?,?) ON CONFLICT DO UPDATE SET "
				   "seq=excluded.seq, hash=excluded.hash";
static const char head_sql[] = "SELECT seq, hash FROM audit_head";
static const char add_sql[] = "INSERT OR REPLACE INTO audit(seq, at_ms, kind, request, team, key, sandbox, session, "
			      "line) VALUES(?,?,?,?,?,?,?,?,?)";
static const char text_sql[] = "INSERT OR REPLACE INTO audit_text(seq, team, text) VALUES(?,?,?)";
static const char prune_sql[] = "DELETE FROM audit WHERE seq<?";
static const char prune_text_sql[] = "DELETE FROM audit_text WHERE seq<?";
static const char pages_sql[] = "PRAGMA page_count";
static const char page_size_sql[] = "PRAGMA page_size";
static const char forget_texts_sql[] =
    "DELETE FROM audit_text WHERE seq IN (SELECT seq FROM audit_text ORDER BY seq LIMIT ?)";
static const char purge_sql[] =
    "DELETE FROM audit WHERE seq IN (SELECT seq FROM audit WHERE team=? ORDER BY seq LIMIT 100)";
static const char purge_text_sql[] =
    "DELETE FROM audit_text WHERE seq IN (SELECT seq FROM audit_text WHERE team=? LIMIT 4)";
static const char overwrite_sql[] = "PRAGMA secure_delete=ON";
static const char leave_sql[] = "PRAGMA secure_delete=OFF";
static const char empty_log_sql[] = "PRAGMA wal_checkpoint(TRUNCATE)";

/* One statement per index and order, because with an optional condition no index would be used. All other
 * conditions are checked in C: SQLite would search the whole table for a matching row, however long that takes. */
#define EACH(lead, order) \
	"SELECT audit.seq, line, text, audit.team, sandbox, key, session, kind, request, at_ms FROM audit LEFT JOIN " \
	"audit_text ON audit_text.seq=audit.seq" \
	" WHERE " lead " AND audit.seq>?3 AND audit.seq<?5 ORDER BY audit.seq " order " LIMIT ?4"

static const char each_sql[] = EACH("TRUE", "ASC"), each_last_sql[] = EACH("TRUE", "DESC");
static const char team_sql[] = EACH("audit.team=?1", "ASC"), team_last_sql[] = EACH("audit.team=?1", "DESC");
static const char sandbox_sql[] = EACH("sandbox=?2 AND sandbox<>''", "ASC"),
		  sandbox_last_sql[] = EACH("sandbox=?2 AND sandbox<>''", "DESC");

int audit_db_open(const char *path, struct store **ret, struct err *e)
{
	struct store *s = NULL;

	if (store_open_cache(path, STORE_ROWS_SMALL, schema, &s, e) < 0)
		return -e->no;
	if (store_durable(s, false, e) < 0) {
		store_close(s);
		return -e->no;
	}
	*ret = s;
	return 0;
}

/* Runs a statement and ignores its rows. */
static int run_plain(struct store *s, const char *sql, struct err *e)
{
	sqlite3_stmt *st;
	int r = stmt_get(s, sql, &st, e);

	while (r >= 0 && (r = stmt_next(s, st, e)) == 1)
		;
	return r;
}

int audit_db_begin(struct store *s, struct err *e)
{
	return run_plain(s, begin_sql, e);
}

int audit_db_commit(struct store *s, const struct audit_point *head, struct err *e)
{
	sqlite3_stmt *st;

	if (head) {
		if (stmt_get(s, head_set_sql, &st, e) < 0)
			return -e->no;
		stmt_u64(st, 1, head->seq);
		stmt_blob(st, 2, head->hash, sizeof head->hash);
		if (stmt_run(s, st, e) < 0)
			return -e->no;
	}
	return run_plain(s, commit_sql, e);
}

void audit_db_rollback(struct store *s)
{
	struct err ignored; /* SQLite may have rolled back by itself */

	(void)run_plain(s, rollback_sql, &ignored);
}

static void bind_str(sqlite3_stmt *st, int at, struct str s)
{
	(void)sqlite3_bind_text(st, at, s.n ? s.p : "", (int)s.n, SQLITE_TRANSIENT);
}

int audit_db_add(struct store *s, const struct audit_line *l, struct str line, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, add_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, l->seq);
	stmt_u64(st, 2, l->rec.at_ms);
	bind_str(st, 3, l->rec.kind);
	bind_str(st, 4, l->rec.request);
	bind_str(st, 5, l->rec.team);
	bind_str(st, 6, l->rec.key);
	bind_str(st, 7, l->rec.sandbox);
	bind_str(st, 8, l->rec.session);
	bind_str(st, 9, line);
	return stmt_run(s, st, e);
}

int audit_db_text(struct store *s, uint64_t seq, const char *team, struct str text, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, text_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, seq);
	stmt_text(st, 2, team);
	bind_str(st, 3, text);
	return stmt_run(s, st, e);
}

int audit_db_head(struct store *s, struct audit_point *ret, struct err *e)
{
	sqlite3_stmt *st;

	*ret = (struct audit_point) { 0 };
	if (stmt_get(s, head_sql, &st, e) < 0)
		return -e->no;
	int r = stmt_next(s, st, e);

	if (r == 1) {
		if (sqlite3_column_bytes(st, 1) == sizeof ret->hash) {
			ret->seq = stmt_col_u64(st, 0);
			memcpy(ret->hash, sqlite3_column_blob(st, 1), sizeof ret->hash);
		}
		(void)sqlite3_reset(st);
	}
	return r < 0 ? r : 0;
}

static const char *none_if_null(const char *z)
{
	return z ? z : "";
}

static bool fits(const struct audit_query *q, sqlite3_stmt *st)
{
	const char *const want[] = { q->team, q->sandbox, q->key, q->session, q->kind, q->request };
	const int first = 3, at = first + (int)ARRAY_LEN(want);

	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		const char *has = *none_if_null(want[i]) ? stmt_col_text(st, first + (int)i) : NULL;

		if (*none_if_null(want[i]) && (!has || strcmp(has, want[i]) != 0))
			return false;
	}
	return stmt_col_u64(st, at) >= q->from_ms && (!q->to_ms || stmt_col_u64(st, at) <= q->to_ms);
}

int audit_db_each(struct store *s, const struct audit_query *q,
    int (*fn)(void *user, uint64_t seq, struct str line, const char *text), void *user, struct err *e)
{
	bool by_sandbox = *none_if_null(q->sandbox), by_team = *none_if_null(q->team);
	const char *sql = by_sandbox ? (q->last ? sandbox_last_sql : sandbox_sql)
	    : by_team                ? (q->last ? team_last_sql : team_sql)
	    : q->last                ? each_last_sql
				     : each_sql;
	uint64_t max = q->last && q->last < q->max ? q->last : q->max, looked = 0, found = 0, seq = 0;
	sqlite3_stmt *st;
	int r;

	if (stmt_get(s, sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, none_if_null(q->team));
	stmt_text(st, 2, none_if_null(q->sandbox));
	stmt_u64(st, 3, q->after);
	stmt_u64(st, 4, q->look_max ? q->look_max : INT64_MAX);
	stmt_u64(st, 5, q->before ? q->before : INT64_MAX);
	while (found < max && (r = stmt_next(s, st, e)) != 0) {
		if (r < 0)
			return r;

		struct str line = { (const char *)sqlite3_column_text(st, 1), (size_t)sqlite3_column_bytes(st, 1) };

		looked++;
		seq = stmt_col_u64(st, 0);
		if (!fits(q, st))
			continue;
		found++;
		if (fn(user, seq, line, stmt_col_text(st, 2)) < 0)
			break;
	}
	(void)sqlite3_reset(st);
	if (q->ret_looked)
		*q->ret_looked = found >= max || (q->look_max && looked >= q->look_max) ? seq : 0;
	return 0;
}

static int run_number(struct store *s, const char *sql, uint64_t v, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, v);
	return stmt_run(s, st, e);
}

int audit_db_prune(struct store *s, uint64_t before_seq, struct err *e)
{
	return run_number(s, prune_text_sql, before_seq, e) < 0 ? -e->no : run_number(s, prune_sql, before_seq, e);
}

static int read_number(struct store *s, const char *sql, uint64_t *ret, struct err *e)
{
	sqlite3_stmt *st;
	int r = stmt_get(s, sql, &st, e);

	if (r >= 0)
		r = stmt_next(s, st, e);
	*ret = r == 1 ? stmt_col_u64(st, 0) : 0;
	if (r == 1)
		(void)sqlite3_reset(st);
	return r < 0 ? r : 0;
}

int audit_db_bytes(struct store *s, uint64_t *ret, struct err *e)
{
	uint64_t pages, size;

	if (read_number(s, pages_sql, &pages, e) < 0 || read_number(s, page_size_sql, &size, e) < 0)
		return -e->no;
	*ret = pages * size;
	return 0;
}

int audit_db_forget_texts(struct store *s, uint64_t max, struct err *e)
{
	return run_number(s, forget_texts_sql, max, e);
}

static int run_team(struct store *s, const char *sql, const char *team, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, team);
	return stmt_run(s, st, e);
}

int audit_db_purge_some(struct store *s, const char *team, uint64_t max_ms, int64_t *total, struct err *e)
{
	uint64_t until_ms = clock_mono_ms() + max_ms;
	struct err ignored;
	int texts = 1, n = 1;

	if (run_plain(s, overwrite_sql, e) < 0)
		return -e->no;
	do {
		if (texts > 0)
			texts = run_team(s, purge_text_sql, team, e);
		n = texts < 0 ? texts : run_team(s, purge_sql, team, e);
		*total += n > 0 ? n : 0;
	} while ((n > 0 || texts > 0) && n >= 0 && clock_mono_ms() < until_ms);
	bool more = n > 0 || texts > 0;

	if (n == 0 && !more)
		(void)run_plain(s, empty_log_sql, &ignored);
	(void)run_plain(s, leave_sql, &ignored);
	return n < 0 ? -e->no : more;
}
