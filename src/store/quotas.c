/* SPDX-License-Identifier: Apache-2.0 */
/* store/quotas: the columns `quota` of teams and keys, and the table quota_use. */
#include "store/quotas.h"

#include "store/db.h"
#include "store/db_stmt.h"

static const char team_sql[] = "UPDATE teams SET quota=? WHERE id=?";
static const char key_sql[] = "UPDATE keys SET quota=? WHERE id=?";
static const char each_sql[] = "SELECT 0, id, quota FROM teams WHERE quota IS NOT NULL UNION ALL"
			       " SELECT 1, id, quota FROM keys WHERE quota IS NOT NULL";
static const char put_sql[] = "INSERT INTO quota_use(owner, day, cpu_ms, sent_bytes) VALUES(?,?,?,?)"
			      " ON CONFLICT DO UPDATE SET cpu_ms=excluded.cpu_ms, sent_bytes=excluded.sent_bytes";
static const char use_sql[] = "SELECT owner, cpu_ms, sent_bytes FROM quota_use WHERE day=?";
static const char prune_sql[] = "DELETE FROM quota_use WHERE day<?";

int quotas_set(struct store *s, bool of_key, const char *id, const char *text, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, of_key ? key_sql : team_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, text);
	stmt_text(st, 2, id);
	int n = stmt_run_durably(s, st, e);

	return n < 0 ? n : n == 0 ? err_set(e, ENOENT, "no %s '%s' in the state file", of_key ? "key" : "team", id) : 0;
}

int quotas_each(struct store *s, void (*fn)(void *user, bool of_key, const char *id, const char *text), void *user,
    struct err *e)
{
	sqlite3_stmt *st;
	int r;

	if (stmt_get(s, each_sql, &st, e) < 0)
		return -e->no;
	while ((r = stmt_next(s, st, e)) == 1)
		fn(user, stmt_col_u64(st, 0) != 0, stmt_col_text(st, 1), stmt_col_text(st, 2));
	return r;
}

int quota_use_put(struct store *s, const char *owner, const struct quota_use *u, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, put_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, owner);
	stmt_u64(st, 2, u->day);
	stmt_u64(st, 3, u->cpu_ms);
	stmt_u64(st, 4, u->sent_bytes);
	int n = stmt_run(s, st, e);

	return n < 0 ? n : 0;
}

int quota_use_each(struct store *s, uint64_t day, void (*fn)(void *user, const char *owner, const struct quota_use *u),
    void *user, struct err *e)
{
	sqlite3_stmt *st;
	int r;

	if (stmt_get(s, use_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, day);
	while ((r = stmt_next(s, st, e)) == 1)
		fn(user, stmt_col_text(st, 0), &(struct quota_use) { day, stmt_col_u64(st, 1), stmt_col_u64(st, 2) });
	return r;
}

int quota_use_prune(struct store *s, uint64_t before_day, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, prune_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, before_day);
	return stmt_run(s, st, e);
}
