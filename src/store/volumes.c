/* SPDX-License-Identifier: Apache-2.0 */
/* store/volumes: the table volumes. */
#include "store/volumes.h"

#include "store/db_stmt.h"

#define COLUMNS "id, team, name, token, bytes, state, created_ms"

static const char add_sql[] = "INSERT INTO volumes(" COLUMNS ") VALUES(?,?,?,?,?,?,?)";
static const char set_sql[] = "UPDATE volumes SET state=?, bytes=? WHERE id=?";
static const char drop_sql[] = "DELETE FROM volumes WHERE id=?";
static const char each_sql[] = "SELECT " COLUMNS " FROM volumes ORDER BY created_ms, id";

static int run_durably(struct store *s, sqlite3_stmt *st, struct err *e)
{
	int n = stmt_run_durably(s, st, e);

	return n < 0 ? n : n == 0 ? err_set(e, ENOENT, "no such volume in the state file") : 0;
}

int volumes_add(struct store *s, const struct volume_row *r, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, add_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, r->id);
	stmt_text(st, 2, r->team);
	stmt_text(st, 3, r->name);
	stmt_text(st, 4, r->token);
	stmt_u64(st, 5, r->bytes);
	stmt_u64(st, 6, r->state);
	stmt_u64(st, 7, r->created_ms);
	return run_durably(s, st, e);
}

int volumes_set(struct store *s, const char *id, enum volume_state state, uint64_t bytes, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, set_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, state);
	stmt_u64(st, 2, bytes);
	stmt_text(st, 3, id);
	return run_durably(s, st, e);
}

int volumes_drop(struct store *s, const char *id, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, drop_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, id);
	return run_durably(s, st, e);
}

int volumes_each(struct store *s, int (*fn)(void *user, const struct volume_row *r), void *user, struct err *e)
{
	sqlite3_stmt *st;
	int r;

	if (stmt_get(s, each_sql, &st, e) < 0)
		return -e->no;
	while ((r = stmt_next(s, st, e)) == 1) {
		struct volume_row row = {
			.id = stmt_col_text(st, 0),
			.team = stmt_col_text(st, 1),
			.name = stmt_col_text(st, 2),
			.token = stmt_col_text(st, 3),
			.bytes = stmt_col_u64(st, 4),
			.state = (enum volume_state)stmt_col_u64(st, 5),
			.created_ms = stmt_col_u64(st, 6),
		};

		r = fn(user, &row);
		if (r < 0) {
			(void)sqlite3_reset(st);
			return r;
		}
	}
	return r;
}
