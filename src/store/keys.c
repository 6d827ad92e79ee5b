/* SPDX-License-Identifier: Apache-2.0 */
/* store/keys: the table keys. */
#include "store/keys.h"

#include <string.h>

#include "store/db_stmt.h"

#define COLUMNS "id, hash, team, name, head, tail, length, admin, local, created_ms, used_ms, expires_ms"

static const char add_sql[] = "INSERT INTO keys(" COLUMNS ") VALUES(?,?,?,?,?,?,?,?,?,?,?,?)";
static const char rename_sql[] = "UPDATE keys SET name=? WHERE id=?";
static const char expire_sql[] = "UPDATE keys SET expires_ms=? WHERE id=?";
static const char used_sql[] = "UPDATE keys SET used_ms=? WHERE id=?";
static const char drop_sql[] = "DELETE FROM keys WHERE id=?";
static const char drop_local_sql[] = "DELETE FROM keys WHERE (local=1 AND admin=?) OR hash=?";
static const char each_sql[] = "SELECT " COLUMNS " FROM keys ORDER BY created_ms, id";

static void put_time(sqlite3_stmt *st, int at, uint64_t ms)
{
	if (ms)
		stmt_u64(st, at, ms);
}

/* For statements that change one row by id; -ENOENT if there is none. */
static int one(int n, const char *id, struct err *e)
{
	return n < 0 ? n : n == 0 ? err_set(e, ENOENT, "no key '%s' in the state file", id) : 0;
}

static int run_durably(struct store *s, sqlite3_stmt *st, const char *id, struct err *e)
{
	return one(stmt_run_durably(s, st, e), id, e);
}

int keys_add(struct store *s, const struct key_row *k, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, add_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, k->id);
	stmt_blob(st, 2, k->hash, KEY_HASH_SIZE);
	stmt_text(st, 3, k->team);
	stmt_text(st, 4, k->name);
	stmt_text(st, 5, k->head);
	stmt_text(st, 6, k->tail);
	stmt_u64(st, 7, k->length);
	stmt_u64(st, 8, k->admin);
	stmt_u64(st, 9, k->local);
	stmt_u64(st, 10, k->created_ms);
	put_time(st, 11, k->used_ms);
	put_time(st, 12, k->expires_ms);
	return run_durably(s, st, k->id, e);
}

int keys_rename(struct store *s, const char *id, const char *name, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, rename_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, name);
	stmt_text(st, 2, id);
	return run_durably(s, st, id, e);
}

int keys_expire(struct store *s, const char *id, uint64_t at_ms, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, expire_sql, &st, e) < 0)
		return -e->no;
	put_time(st, 1, at_ms);
	stmt_text(st, 2, id);
	return run_durably(s, st, id, e);
}

int keys_drop(struct store *s, const char *id, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, drop_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, id);
	return run_durably(s, st, id, e);
}

int keys_put_local(struct store *s, const struct key_row *k, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, drop_local_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, k->admin);
	stmt_blob(st, 2, k->hash, KEY_HASH_SIZE);
	if (stmt_run(s, st, e) < 0)
		return -e->no;
	return keys_add(s, k, e);
}

int keys_used(struct store *s, const char *id, uint64_t at_ms, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, used_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, at_ms);
	stmt_text(st, 2, id);
	return one(stmt_run(s, st, e), id, e);
}

int keys_each(struct store *s, int (*fn)(void *user, const struct key_row *k), void *user, struct err *e)
{
	sqlite3_stmt *st;
	int r;

	if (stmt_get(s, each_sql, &st, e) < 0)
		return -e->no;
	while ((r = stmt_next(s, st, e)) == 1) {
		struct key_row k = {
			.id = stmt_col_text(st, 0),
			.team = stmt_col_text(st, 2),
			.name = stmt_col_text(st, 3),
			.head = stmt_col_text(st, 4),
			.tail = stmt_col_text(st, 5),
			.length = (uint32_t)stmt_col_u64(st, 6),
			.admin = stmt_col_u64(st, 7) != 0,
			.local = stmt_col_u64(st, 8) != 0,
			.created_ms = stmt_col_u64(st, 9),
			.used_ms = stmt_col_u64(st, 10),
			.expires_ms = stmt_col_u64(st, 11),
		};

		if (sqlite3_column_bytes(st, 1) != KEY_HASH_SIZE)
			continue; /* not written by atoll: no key can match it */
		memcpy(k.hash, sqlite3_column_blob(st, 1), KEY_HASH_SIZE);
		r = fn(user, &k);
		if (r < 0) {
			(void)sqlite3_reset(st);
			return r;
		}
	}
	return r;
}
