/* SPDX-License-Identifier: Apache-2.0 */
/* store/snapshots: the table snapshots. */
#include "store/snapshots.h"

#include "store/db_stmt.h"

#define COLUMNS \
	"template_id, tag, team, alias, source, kept_name, kept, base_id, base_name, base_key, mem_bytes, " \
	"disk_bytes, cpu_permille, pids," \
	" created_ms, volumes"

static const char put_sql[] = "INSERT OR REPLACE INTO snapshots(" COLUMNS ") VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
static const char drop_sql[] = "DELETE FROM snapshots WHERE template_id=? AND tag=?";
static const char each_sql[] = "SELECT " COLUMNS " FROM snapshots ORDER BY created_ms, template_id, tag";

static int run_durably(struct store *s, sqlite3_stmt *st, struct err *e)
{
	int n = stmt_run_durably(s, st, e);

	return n < 0 ? n : 0;
}

int snapshots_put(struct store *s, const struct snapshot_row *r, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, put_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, r->template_id);
	stmt_text(st, 2, r->tag);
	stmt_text(st, 3, r->team);
	stmt_text(st, 4, r->alias);
	stmt_text(st, 5, r->source);
	stmt_text(st, 6, r->kept_name);
	stmt_u64(st, 7, r->kept);
	stmt_text(st, 8, r->base_id);
	stmt_text(st, 9, r->base_name);
	stmt_text(st, 10, r->base_key);
	stmt_u64(st, 11, r->mem_bytes);
	stmt_u64(st, 12, r->disk_bytes);
	stmt_u64(st, 13, r->cpu_permille);
	stmt_u64(st, 14, r->pids);
	stmt_u64(st, 15, r->created_ms);
	stmt_text(st, 16, r->volumes);
	return run_durably(s, st, e);
}

int snapshots_drop(struct store *s, const char *template_id, const char *tag, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, drop_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, template_id);
	stmt_text(st, 2, tag);
	return run_durably(s, st, e);
}

int snapshots_each(struct store *s, int (*fn)(void *user, const struct snapshot_row *r), void *user, struct err *e)
{
	sqlite3_stmt *st;
	int r;

	if (stmt_get(s, each_sql, &st, e) < 0)
		return -e->no;
	while ((r = stmt_next(s, st, e)) == 1) {
		struct snapshot_row row = {
			.template_id = stmt_col_text(st, 0),
			.tag = stmt_col_text(st, 1),
			.team = stmt_col_text(st, 2),
			.alias = stmt_col_text(st, 3),
			.source = stmt_col_text(st, 4),
			.kept_name = stmt_col_text(st, 5),
			.kept = (uint32_t)stmt_col_u64(st, 6),
			.base_id = stmt_col_text(st, 7),
			.base_name = stmt_col_text(st, 8),
			.base_key = stmt_col_text(st, 9),
			.mem_bytes = stmt_col_u64(st, 10),
			.disk_bytes = stmt_col_u64(st, 11),
			.cpu_permille = (uint32_t)stmt_col_u64(st, 12),
			.pids = (uint32_t)stmt_col_u64(st, 13),
			.created_ms = stmt_col_u64(st, 14),
			.volumes = stmt_col_text(st, 15),
		};

		r = fn(user, &row);
		if (r < 0) {
			(void)sqlite3_reset(st);
			return r;
		}
	}
	return r;
}
