/* SPDX-License-Identifier: Apache-2.0 */
/* store/team_points: the table team_points. */
#include "store/team_points.h"

#include "store/db_stmt.h"

static const char add_sql[] =
    "INSERT INTO team_points(team, at_s, running, starts) VALUES(?,?,?,?) "
    "ON CONFLICT DO UPDATE SET running=max(running, excluded.running), starts=starts+excluded.starts";
static const char each_sql[] =
    "SELECT at_s, running, starts FROM team_points WHERE team=? AND at_s BETWEEN ? AND ? ORDER BY at_s";
static const char prune_sql[] = "DELETE FROM team_points WHERE at_s<?";

int team_points_add(struct store *s, const char *team, const struct team_point *p, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, add_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, team);
	stmt_u64(st, 2, p->at_s);
	stmt_u64(st, 3, p->running);
	stmt_u64(st, 4, p->starts);
	return stmt_run(s, st, e);
}

int team_points_each(struct store *s, const char *team, uint64_t from_s, uint64_t to_s,
    void (*fn)(void *user, const struct team_point *p), void *user, struct err *e)
{
	sqlite3_stmt *st;
	int r;

	if (stmt_get(s, each_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, team);
	stmt_u64(st, 2, from_s);
	stmt_u64(st, 3, to_s);
	while ((r = stmt_next(s, st, e)) == 1)
		fn(user,
		    &(struct team_point) { stmt_col_u64(st, 0), (uint32_t)stmt_col_u64(st, 1),
			(uint32_t)stmt_col_u64(st, 2) });
	return r;
}

int team_points_prune(struct store *s, uint64_t before_s, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, prune_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, before_s);
	return stmt_run(s, st, e);
}
