/* SPDX-License-Identifier: Apache-2.0 */
/* store/logs: the tables logs and log_pieces. */
#include "store/logs.h"

#include <errno.h>

#include "store/db_stmt.h"
#include "store/sandboxes.h"

static const char begin_sql[] = "BEGIN";
static const char commit_sql[] = "COMMIT";
static const char head_sql[] =
    "INSERT INTO logs(id, team, gen, seq, gen_bytes, old_bytes, ended_ms) VALUES(?,?,?,?,?,?,?) "
    "ON CONFLICT DO UPDATE SET gen=excluded.gen, seq=excluded.seq, gen_bytes=excluded.gen_bytes, "
    "old_bytes=excluded.old_bytes, ended_ms=excluded.ended_ms";
static const char piece_sql[] = "INSERT INTO log_pieces(id, gen, seq, bytes) VALUES(?,?,?,?)";
static const char place_sql[] = "SELECT gen, seq, gen_bytes, old_bytes FROM logs WHERE id=?";
static const char drop_sql[] = "DELETE FROM log_pieces WHERE id=? AND gen<?";
static const char team_sql[] = "SELECT 1 FROM logs WHERE id=? AND team=? AND (ended_ms IS NULL OR ended_ms>=?)";
static const char read_sql[] = "SELECT bytes FROM log_pieces WHERE id=? ORDER BY gen, seq";
static const char lost_sql[] =
    "UPDATE logs SET ended_ms=? WHERE ended_ms IS NULL AND id NOT IN (SELECT id FROM sandboxes WHERE state<>?)";
static const char prune_sql[] =
    "DELETE FROM logs WHERE id IN (SELECT id FROM logs WHERE ended_ms<? ORDER BY ended_ms LIMIT " STMT_TEXT(
	STORE_BATCH_LOGS) ") RETURNING gen_bytes+old_bytes";
static const char oldest_sql[] =
    "DELETE FROM logs WHERE id IN (SELECT id FROM logs WHERE ended_ms IS NOT NULL ORDER BY ended_ms LIMIT ?) "
    "RETURNING gen_bytes+old_bytes";
static const char bytes_sql[] = "SELECT coalesce(sum(gen_bytes+old_bytes), 0) FROM logs";

static int run_plain(struct store *s, const char *sql, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, sql, &st, e) < 0)
		return -e->no;
	return stmt_run(s, st, e);
}

int logs_begin(struct store *s, struct err *e)
{
	return run_plain(s, begin_sql, e);
}

int logs_commit(struct store *s, struct err *e)
{
	return run_plain(s, commit_sql, e);
}

int logs_add(struct store *s, const char *id, const char *team, struct str bytes, struct log_place *p,
    uint64_t ended_ms, struct err *e)
{
	struct log_place next = { p->gen, p->seq + (bytes.n > 0), p->gen_bytes + bytes.n, p->old_bytes };
	sqlite3_stmt *st;

	if (stmt_get(s, head_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, id);
	stmt_text(st, 2, team);
	stmt_u64(st, 3, next.gen);
	stmt_u64(st, 4, next.seq);
	stmt_u64(st, 5, next.gen_bytes);
	stmt_u64(st, 6, next.old_bytes);
	if (ended_ms)
		stmt_u64(st, 7, ended_ms);
	if (stmt_run(s, st, e) < 0)
		return -e->no;
	if (bytes.n > 0) {
		if (stmt_get(s, piece_sql, &st, e) < 0)
			return -e->no;
		stmt_text(st, 1, id);
		stmt_u64(st, 2, p->gen);
		stmt_u64(st, 3, p->seq);
		stmt_blob(st, 4, bytes.p, bytes.n);
		if (stmt_run(s, st, e) < 0)
			return -e->no;
	}
	*p = next;
	return 0;
}

int logs_place(struct store *s, const char *id, struct log_place *ret, struct err *e)
{
	sqlite3_stmt *st;

	*ret = (struct log_place) { 0 };
	if (stmt_get(s, place_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, id);
	int r = stmt_next(s, st, e);

	if (r == 1) {
		*ret = (struct log_place) { (uint32_t)stmt_col_u64(st, 0), (uint32_t)stmt_col_u64(st, 1),
			stmt_col_u64(st, 2), stmt_col_u64(st, 3) };
		(void)sqlite3_reset(st);
	}
	return r < 0 ? r : 0;
}

int logs_drop_before(struct store *s, const char *id, uint32_t gen, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, drop_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, id);
	stmt_u64(st, 2, gen);
	return stmt_run(s, st, e);
}

int logs_read(struct store *s, struct str id, const char *team, uint64_t not_before_ms,
    void (*fn)(void *user, struct str bytes), void *user, struct err *e)
{
	char z[32];
	sqlite3_stmt *st;
	int r;

	if (!str_copy(z, sizeof z, id))
		return err_set(e, ENOENT, "no such log");
	if (stmt_get(s, team_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, z);
	stmt_text(st, 2, team);
	stmt_u64(st, 3, not_before_ms);
	r = stmt_next(s, st, e);
	if (r <= 0)
		return r < 0 ? r : err_set(e, ENOENT, "no log of '%s'", z);
	(void)sqlite3_reset(st);
	if (stmt_get(s, read_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, z);
	while ((r = stmt_next(s, st, e)) == 1)
		fn(user, (struct str) { sqlite3_column_blob(st, 0), (size_t)sqlite3_column_bytes(st, 0) });
	return r;
}

int logs_end_lost(struct store *s, uint64_t now_ms, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, lost_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, now_ms);
	stmt_u64(st, 2, ROW_ENDED);
	return stmt_run(s, st, e);
}

static int prune(struct store *s, const char *sql, uint64_t v, uint64_t *ret_bytes, struct err *e)
{
	sqlite3_stmt *st;
	int r, n = 0;

	*ret_bytes = 0;
	if (stmt_get(s, sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, v);
	for (; (r = stmt_next(s, st, e)) == 1; n++)
		*ret_bytes += stmt_col_u64(st, 0);
	return r < 0 ? r : n;
}

int logs_prune(struct store *s, uint64_t ended_before_ms, uint64_t *ret_bytes, struct err *e)
{
	return prune(s, prune_sql, ended_before_ms, ret_bytes, e);
}

int logs_prune_oldest(struct store *s, uint32_t n, uint64_t *ret_bytes, struct err *e)
{
	return prune(s, oldest_sql, n, ret_bytes, e);
}

int logs_bytes(struct store *s, uint64_t *ret, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, bytes_sql, &st, e) < 0)
		return -e->no;
	if (stmt_next(s, st, e) < 0)
		return -e->no;
	*ret = stmt_col_u64(st, 0);
	(void)sqlite3_reset(st);
	return 0;
}
