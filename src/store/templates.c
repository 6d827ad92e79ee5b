/* SPDX-License-Identifier: Apache-2.0 */
/* store/templates: the tables templates and template_tags. */
#include "store/templates.h"

#include "base/str.h"
#include "store/db_stmt.h"

#define COLUMNS \
	"t.id, t.team, t.name, t.is_public, t.created_ms, t.updated_ms, t.spawned_ms, t.spawn_count," \
	" (SELECT count(*) FROM builds b WHERE b.template_id=t.id)"

static const char add_sql[] =
    "INSERT INTO templates(id, team, name, is_public, created_ms, updated_ms, spawned_ms, spawn_count)"
    " VALUES(?,?,?,?,?,?,0,0)";
static const char drop_sql[] = "DELETE FROM templates WHERE id=?";
static const char public_sql[] = "UPDATE templates SET is_public=?, updated_ms=? WHERE id=?";
static const char spawned_sql[] = "UPDATE templates SET spawned_ms=?, spawn_count=spawn_count+1 WHERE id=?";
static const char by_id_sql[] = "SELECT " COLUMNS " FROM templates t WHERE t.id=?";
static const char by_name_sql[] = "SELECT " COLUMNS " FROM templates t WHERE t.team=? AND t.name=?";
static const char each_sql[] = "SELECT " COLUMNS
			       " FROM templates t WHERE ?1 IS NULL OR t.team=?1 ORDER BY t.created_ms DESC, t.id";
static const char tag_put_sql[] =
    "INSERT OR REPLACE INTO template_tags(template_id, tag, build_id, created_ms) VALUES(?,?,?,?)";
static const char tag_drop_sql[] = "DELETE FROM template_tags WHERE template_id=? AND tag=?";
static const char tag_find_sql[] = "SELECT tag, build_id, created_ms FROM template_tags WHERE template_id=? AND tag=?";
static const char tag_each_sql[] =
    "SELECT tag, build_id, created_ms FROM template_tags WHERE template_id=? ORDER BY created_ms, tag";

int templates_add(struct store *s, const struct template_row *r, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, add_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, r->id);
	stmt_text(st, 2, r->team);
	stmt_text(st, 3, r->name);
	stmt_u64(st, 4, r->is_public);
	stmt_u64(st, 5, r->created_ms);
	stmt_u64(st, 6, r->updated_ms);
	int n = stmt_run_durably(s, st, e);

	return n < 0 ? n : 0;
}

static int one(int n, struct err *e)
{
	return n < 0 ? n : n == 0 ? err_set(e, ENOENT, "no such template in the state file") : 0;
}

int templates_drop(struct store *s, const char *id, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, drop_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, id);
	return one(stmt_run_durably(s, st, e), e);
}

int templates_set_public(struct store *s, const char *id, bool is_public, uint64_t now_ms, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, public_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, is_public);
	stmt_u64(st, 2, now_ms);
	stmt_text(st, 3, id);
	return one(stmt_run_durably(s, st, e), e);
}

int templates_spawned(struct store *s, const char *id, uint64_t now_ms, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, spawned_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, now_ms);
	stmt_text(st, 2, id);
	return one(stmt_run(s, st, e), e);
}

static struct str text_of(sqlite3_stmt *st, int col)
{
	return str_of(stmt_col_text(st, col));
}

static void take_row(sqlite3_stmt *st, struct template_row *r)
{
	*r = (struct template_row) {
		.is_public = stmt_col_u64(st, 3) != 0,
		.created_ms = stmt_col_u64(st, 4),
		.updated_ms = stmt_col_u64(st, 5),
		.spawned_ms = stmt_col_u64(st, 6),
		.spawn_count = stmt_col_u64(st, 7),
		.build_count = stmt_col_u64(st, 8),
	};
	(void)str_copy(r->id, sizeof r->id, text_of(st, 0));
	(void)str_copy(r->team, sizeof r->team, text_of(st, 1));
	(void)str_copy(r->name, sizeof r->name, text_of(st, 2));
}

static int find_row(struct store *s, sqlite3_stmt *st, struct template_row *ret, struct err *e)
{
	int r = stmt_next(s, st, e);

	if (r <= 0)
		return r < 0 ? r : err_set(e, ENOENT, "no such template");
	take_row(st, ret);
	(void)sqlite3_reset(st);
	return 0;
}

int templates_by_id(struct store *s, const char *id, struct template_row *ret, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, by_id_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, id);
	return find_row(s, st, ret, e);
}

int templates_by_name(struct store *s, const char *team, const char *name, struct template_row *ret, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, by_name_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, team);
	stmt_text(st, 2, name);
	return find_row(s, st, ret, e);
}

int templates_each(struct store *s, const char *team, int (*fn)(void *user, const struct template_row *r), void *user,
    struct err *e)
{
	sqlite3_stmt *st;
	int r;

	if (stmt_get(s, each_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, team);
	while ((r = stmt_next(s, st, e)) == 1) {
		struct template_row row;

		take_row(st, &row);
		r = fn(user, &row);
		if (r < 0) {
			(void)sqlite3_reset(st);
			return r;
		}
	}
	return r;
}

int tags_put(struct store *s, const char *template_id, const struct tag_row *r, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, tag_put_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, template_id);
	stmt_text(st, 2, r->tag);
	stmt_text(st, 3, r->build);
	stmt_u64(st, 4, r->created_ms);
	int n = stmt_run_durably(s, st, e);

	return n < 0 ? n : 0;
}

int tags_drop(struct store *s, const char *template_id, const char *tag, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, tag_drop_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, template_id);
	stmt_text(st, 2, tag);
	return stmt_run_durably(s, st, e);
}

static void take_tag(sqlite3_stmt *st, struct tag_row *r)
{
	*r = (struct tag_row) { .created_ms = stmt_col_u64(st, 2) };
	(void)str_copy(r->tag, sizeof r->tag, text_of(st, 0));
	(void)str_copy(r->build, sizeof r->build, text_of(st, 1));
}

int tags_find(struct store *s, const char *template_id, const char *tag, struct tag_row *ret, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, tag_find_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, template_id);
	stmt_text(st, 2, tag);
	int r = stmt_next(s, st, e);

	if (r <= 0)
		return r < 0 ? r : err_set(e, ENOENT, "no such tag");
	take_tag(st, ret);
	(void)sqlite3_reset(st);
	return 0;
}

int tags_each(struct store *s, const char *template_id, int (*fn)(void *user, const struct tag_row *r), void *user,
    struct err *e)
{
	sqlite3_stmt *st;
	int r;

	if (stmt_get(s, tag_each_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, template_id);
	while ((r = stmt_next(s, st, e)) == 1) {
		struct tag_row row;

		take_tag(st, &row);
		r = fn(user, &row);
		if (r < 0) {
			(void)sqlite3_reset(st);
			return r;
		}
	}
	return r;
}
