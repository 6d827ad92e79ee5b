/* SPDX-License-Identifier: Apache-2.0 */
/* store/capacity: the table capacity. */
#include "store/capacity.h"

#include "store/db_stmt.h"

static const char add_sql[] =
    "INSERT INTO capacity(hour, sandboxes, mem_bytes, limit_bytes, cpu_permille, starts, pool_hits, pool_misses) "
    "VALUES(?,?,?,?,?,?,?,?)"
    " ON CONFLICT DO UPDATE SET sandboxes=max(sandboxes, excluded.sandboxes), mem_bytes=max(mem_bytes, "
    "excluded.mem_bytes),"
    " limit_bytes=max(limit_bytes, excluded.limit_bytes), cpu_permille=max(cpu_permille, excluded.cpu_permille),"
    " starts=starts+excluded.starts, pool_hits=pool_hits+excluded.pool_hits, "
    "pool_misses=pool_misses+excluded.pool_misses";
#define SUMS \
	" max(sandboxes), max(mem_bytes), max(limit_bytes), max(cpu_permille), sum(starts), sum(pool_hits), " \
	"sum(pool_misses) FROM capacity WHERE hour>=? GROUP BY 1 ORDER BY 1"
static const char hours_sql[] = "SELECT hour," SUMS;
static const char days_sql[] = "SELECT hour/24," SUMS;
static const char prune_sql[] = "DELETE FROM capacity WHERE hour<?";

int capacity_add(struct store *s, const struct capacity_row *row, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, add_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, row->at);
	stmt_u64(st, 2, row->sandboxes);
	stmt_u64(st, 3, row->mem_bytes);
	stmt_u64(st, 4, row->limit_bytes);
	stmt_u64(st, 5, row->cpu_permille);
	stmt_u64(st, 6, row->starts);
	stmt_u64(st, 7, row->pool_hits);
	stmt_u64(st, 8, row->pool_misses);
	return stmt_run(s, st, e);
}

int capacity_each(struct store *s, uint64_t from_hour, bool by_day,
    void (*fn)(void *user, const struct capacity_row *row), void *user, struct err *e)
{
	sqlite3_stmt *st;
	int r;

	if (stmt_get(s, by_day ? days_sql : hours_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, from_hour);
	while ((r = stmt_next(s, st, e)) == 1) {
		struct capacity_row row = {
			.at = stmt_col_u64(st, 0),
			.sandboxes = stmt_col_u64(st, 1),
			.mem_bytes = stmt_col_u64(st, 2),
			.limit_bytes = stmt_col_u64(st, 3),
			.cpu_permille = stmt_col_u64(st, 4),
			.starts = stmt_col_u64(st, 5),
			.pool_hits = stmt_col_u64(st, 6),
			.pool_misses = stmt_col_u64(st, 7),
		};

		fn(user, &row);
	}
	return r;
}

int capacity_prune(struct store *s, uint64_t before_hour, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, prune_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, before_hour);
	return stmt_run(s, st, e);
}
