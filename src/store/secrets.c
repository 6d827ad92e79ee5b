/* SPDX-License-Identifier: Apache-2.0 */
/* store/secrets: the table secrets. */
#include "store/secrets.h"

#include "store/db_stmt.h"

#define COLUMNS "id, team, name, version, sealed, metadata, created_ms, updated_ms"

static const char add_sql[] = "INSERT INTO secrets(" COLUMNS ") VALUES(?,?,?,?,?,?,?,?)";
static const char set_sql[] = "UPDATE secrets SET version=?, sealed=?, metadata=?, updated_ms=? WHERE team=? AND id=?";
static const char drop_sql[] = "DELETE FROM secrets WHERE team=? AND id=?";
static const char find_sql[] = "SELECT " COLUMNS " FROM secrets WHERE team=?1 AND (id=?2 OR name=?2)";
static const char each_sql[] = "SELECT " COLUMNS " FROM secrets WHERE team=? AND name>? ORDER BY name LIMIT ?";
static const char count_sql[] = "SELECT count(*) FROM secrets WHERE team=?";

static int run_durably(struct store *s, sqlite3_stmt *st, struct err *e)
{
	int n = stmt_run_durably(s, st, e);

	return n < 0 ? n : n == 0 ? err_set(e, ENOENT, "no such secret in the state file") : 0;
}

int secrets_add(struct store *s, const struct secret_row *r, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, add_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, r->id);
	stmt_text(st, 2, r->team);
	stmt_text(st, 3, r->name);
	stmt_u64(st, 4, r->version);
	stmt_blob(st, 5, r->sealed, r->n_sealed);
	stmt_text(st, 6, r->metadata);
	stmt_u64(st, 7, r->created_ms);
	stmt_u64(st, 8, r->updated_ms);
	return run_durably(s, st, e);
}

int secrets_set(struct store *s, const struct secret_row *r, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, set_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, r->version);
	stmt_blob(st, 2, r->sealed, r->n_sealed);
	stmt_text(st, 3, r->metadata);
	stmt_u64(st, 4, r->updated_ms);
	stmt_text(st, 5, r->team);
	stmt_text(st, 6, r->id);
	return run_durably(s, st, e);
}

int secrets_drop(struct store *s, const char *team, const char *id, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, drop_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, team);
	stmt_text(st, 2, id);
	return run_durably(s, st, e);
}

static struct secret_row row_of(sqlite3_stmt *st)
{
	return (struct secret_row) {
		.id = stmt_col_text(st, 0),
		.team = stmt_col_text(st, 1),
		.name = stmt_col_text(st, 2),
		.version = stmt_col_u64(st, 3),
		.sealed = sqlite3_column_blob(st, 4),
		.n_sealed = (size_t)sqlite3_column_bytes(st, 4),
		.metadata = stmt_col_text(st, 5),
		.created_ms = stmt_col_u64(st, 6),
		.updated_ms = stmt_col_u64(st, 7),
	};
}

int secrets_find(struct store *s, const char *team, const char *which, secret_fn *fn, void *user, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, find_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, team);
	stmt_text(st, 2, which);
	int r = stmt_next(s, st, e);

	if (r <= 0)
		return r < 0 ? r : err_set(e, ENOENT, "no such secret");
	struct secret_row row = row_of(st);

	r = fn(user, &row);
	(void)sqlite3_reset(st);
	return r;
}

int secrets_each(struct store *s, const char *team, const char *after, uint64_t limit, secret_fn *fn, void *user,
    struct err *e)
{
	sqlite3_stmt *st;
	int r;

	if (stmt_get(s, each_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, team);
	stmt_text(st, 2, after);
	stmt_u64(st, 3, limit);
	while ((r = stmt_next(s, st, e)) > 0) {
		struct secret_row row = row_of(st);

		r = fn(user, &row);
		if (r < 0) {
			(void)sqlite3_reset(st);
			return r;
		}
	}
	return r;
}

int64_t secrets_count(struct store *s, const char *team, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, count_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, team);
	int r = stmt_next(s, st, e);
	int64_t n = r > 0 ? (int64_t)stmt_col_u64(st, 0) : r;

	(void)sqlite3_reset(st);
	return n;
}
