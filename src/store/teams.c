/* SPDX-License-Identifier: Apache-2.0 */
/* store/teams: the table teams. */
#include "store/teams.h"

#include "store/db_stmt.h"

#define COLUMNS "id, name, is_default, blocked, max_sandboxes, rate_limit, created_ms"

static const char add_sql[] = "INSERT INTO teams(" COLUMNS ") VALUES(?,?,?,?,?,?,?)";
static const char set_sql[] = "UPDATE teams SET name=?, blocked=?, max_sandboxes=?, rate_limit=? WHERE id=?";
static const char drop_sql[] = "DELETE FROM teams WHERE id=?";
static const char each_sql[] = "SELECT " COLUMNS " FROM teams ORDER BY created_ms, id";

static void put_limit(sqlite3_stmt *st, int at, int64_t v)
{
	if (v != LIMIT_DEFAULT)
		stmt_u64(st, at, (uint64_t)v);
}

static int64_t get_limit(sqlite3_stmt *st, int col)
{
	return sqlite3_column_type(st, col) == SQLITE_NULL ? LIMIT_DEFAULT : sqlite3_column_int64(st, col);
}

static int run_durably(struct store *s, sqlite3_stmt *st, const struct team_row *t, struct err *e)
{
	int n = stmt_run_durably(s, st, e);

	if (n == -EEXIST)
		return err_set(e, EEXIST, "there is a team '%s' already", t->name);
	return n < 0 ? n : n == 0 ? err_set(e, ENOENT, "no team '%s' in the state file", t->id) : 0;
}

int teams_add(struct store *s, const struct team_row *t, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, add_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, t->id);
	stmt_text(st, 2, t->name);
	stmt_u64(st, 3, t->is_default);
	stmt_u64(st, 4, t->blocked);
	put_limit(st, 5, t->max_sandboxes);
	put_limit(st, 6, t->rate_limit);
	stmt_u64(st, 7, t->created_ms);
	return run_durably(s, st, t, e);
}

int teams_set(struct store *s, const struct team_row *t, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, set_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, t->name);
	stmt_u64(st, 2, t->blocked);
	put_limit(st, 3, t->max_sandboxes);
	put_limit(st, 4, t->rate_limit);
	stmt_text(st, 5, t->id);
	return run_durably(s, st, t, e);
}

int teams_drop(struct store *s, const char *id, struct err *e)
{
	struct team_row t = { .id = id, .name = "" };
	sqlite3_stmt *st;

	if (stmt_get(s, drop_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, id);
	return run_durably(s, st, &t, e);
}

int teams_each(struct store *s, int (*fn)(void *user, const struct team_row *t), void *user, struct err *e)
{
	sqlite3_stmt *st;
	int r;

	if (stmt_get(s, each_sql, &st, e) < 0)
		return -e->no;
	while ((r = stmt_next(s, st, e)) == 1) {
		struct team_row t = {
			.id = stmt_col_text(st, 0),
			.name = stmt_col_text(st, 1),
			.is_default = stmt_col_u64(st, 2) != 0,
			.blocked = stmt_col_u64(st, 3) != 0,
			.max_sandboxes = get_limit(st, 4),
			.rate_limit = get_limit(st, 5),
			.created_ms = stmt_col_u64(st, 6),
		};

		r = fn(user, &t);
		if (r < 0) {
			(void)sqlite3_reset(st);
			return r;
		}
	}
	return r;
}
