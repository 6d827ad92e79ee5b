/* SPDX-License-Identifier: Apache-2.0 */
/* store/sessions: the table of console.db. */
#include "store/sessions.h"

#include <string.h>

#include "base/fd.h"
#include "store/db_stmt.h"

#define COLUMNS "hash, id, team, key, user, role, created_ms, used_ms, expires_ms"

static const char schema[] = "CREATE TABLE IF NOT EXISTS sessions ("
			     " hash BLOB PRIMARY KEY," /* SHA-256 of the token, never the token */
			     " id TEXT NOT NULL,"
			     " team TEXT NOT NULL,"
			     " key TEXT NOT NULL,"
			     " user TEXT NOT NULL,"
			     " role INTEGER NOT NULL,"
			     " created_ms INTEGER NOT NULL,"
			     " used_ms INTEGER NOT NULL,"
			     " expires_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
			     "CREATE TABLE IF NOT EXISTS basis (text TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;"
			     /* a write, so that the files which writing needs are there before the confinement */
			     "DELETE FROM sessions WHERE expires_ms=0;";

static const char add_sql[] = "INSERT INTO sessions(" COLUMNS ") VALUES(?,?,?,?,?,?,?,?,?)";
static const char used_sql[] = "UPDATE sessions SET used_ms=? WHERE hash=?";
static const char drop_sql[] = "DELETE FROM sessions WHERE hash=?";
static const char each_sql[] = "SELECT " COLUMNS " FROM sessions ORDER BY created_ms";

int sessions_store_open(const char *path, struct store **ret, struct err *e)
{
	return store_open_cache(path, STORE_ROWS_SMALL, schema, ret, e);
}

int sessions_rebase(struct store *s, const char *basis, struct err *e)
{
	static const char *const sql[] = {
		"DELETE FROM sessions WHERE key='' AND NOT EXISTS (SELECT 1 FROM basis WHERE text=?)",
		"DELETE FROM basis WHERE text<>?",
		"INSERT OR IGNORE INTO basis(text) VALUES(?)",
	};

	for (size_t i = 0; i < ARRAY_LEN(sql); i++) {
		sqlite3_stmt *st;

		if (stmt_get(s, sql[i], &st, e) < 0)
			return -e->no;
		stmt_text(st, 1, basis);
		if (stmt_run(s, st, e) < 0)
			return -e->no;
	}
	return 0;
}

int sessions_add(struct store *s, const struct session_row *row, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, add_sql, &st, e) < 0)
		return -e->no;
	stmt_blob(st, 1, row->hash, SESSION_HASH_SIZE);
	stmt_text(st, 2, row->id);
	stmt_text(st, 3, row->team);
	stmt_text(st, 4, row->key);
	stmt_text(st, 5, row->user);
	stmt_u64(st, 6, row->role);
	stmt_u64(st, 7, row->created_ms);
	stmt_u64(st, 8, row->used_ms);
	stmt_u64(st, 9, row->expires_ms);
	return stmt_run(s, st, e) < 0 ? -e->no : 0;
}

int sessions_used(struct store *s, const uint8_t hash[SESSION_HASH_SIZE], uint64_t at_ms, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, used_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, at_ms);
	stmt_blob(st, 2, hash, SESSION_HASH_SIZE);
	return stmt_run(s, st, e) < 0 ? -e->no : 0;
}

int sessions_drop(struct store *s, const uint8_t hash[SESSION_HASH_SIZE], struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, drop_sql, &st, e) < 0)
		return -e->no;
	stmt_blob(st, 1, hash, SESSION_HASH_SIZE);
	return stmt_run_durably(s, st, e) < 0 ? -e->no : 0;
}

int sessions_each(struct store *s, int (*fn)(void *user, const struct session_row *row), void *user, struct err *e)
{
	sqlite3_stmt *st;
	int r;

	if (stmt_get(s, each_sql, &st, e) < 0)
		return -e->no;
	while ((r = stmt_next(s, st, e)) == 1) {
		struct session_row row = {
			.id = stmt_col_text(st, 1),
			.team = stmt_col_text(st, 2),
			.key = stmt_col_text(st, 3),
			.user = stmt_col_text(st, 4),
			.role = (uint32_t)stmt_col_u64(st, 5),
			.created_ms = stmt_col_u64(st, 6),
			.used_ms = stmt_col_u64(st, 7),
			.expires_ms = stmt_col_u64(st, 8),
		};

		if (sqlite3_column_bytes(st, 0) != SESSION_HASH_SIZE)
			continue; /* not written by atoll: no token can match it */
		memcpy(row.hash, sqlite3_column_blob(st, 0), SESSION_HASH_SIZE);
		r = fn(user, &row);
		if (r < 0) {
			(void)sqlite3_reset(st);
			return r;
		}
	}
	return r;
}
