/* SPDX-License-Identifier: Apache-2.0 */
/* store/builds: the tables builds, build_logs and layers. */
#include "store/builds.h"

#include <string.h>

#include "base/str.h"
#include "store/db_stmt.h"

#define COLUMNS \
	"id, template_id, team, status, base_key, kept, what, mem_bytes, disk_bytes, cpu_permille, pids, step, " \
	"reason, tags," \
	" created_ms, finished_ms"
#define LAYER_COLUMNS "key, base_key, kept, what, bytes, created_ms, used_ms"

static const char put_sql[] =
    "INSERT INTO builds(" COLUMNS ") VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT(id) DO UPDATE SET"
    " status=excluded.status, base_key=excluded.base_key, kept=excluded.kept, what=excluded.what, step=excluded.step,"
    " reason=excluded.reason, finished_ms=excluded.finished_ms";
static const char find_sql[] = "SELECT " COLUMNS " FROM builds WHERE id=?";
static const char each_sql[] = "SELECT " COLUMNS " FROM builds WHERE template_id=? ORDER BY created_ms DESC, id";
static const char fail_sql[] =
    "UPDATE builds SET status='error', step='base', reason=?, finished_ms=? WHERE status IN ('waiting','building')";
static const char strip_sql[] =
    "UPDATE builds SET kept='', what=0 WHERE kept=?1 AND id NOT IN (SELECT build_id FROM template_tags)";
static const char untagged_sql[] =
    "SELECT DISTINCT kept FROM builds WHERE kept<>'' AND id NOT IN (SELECT build_id FROM template_tags) LIMIT 1";
static const char log_add_sql[] =
    "INSERT INTO build_logs(build, n, at_ms, level, step, message)"
    " VALUES(?1, (SELECT coalesce(max(n) + 1, 0) FROM build_logs WHERE build=?1), ?2, ?3, ?4, ?5)";
static const char log_each_sql[] =
    "SELECT at_ms, level, step, message FROM build_logs WHERE build=? AND n>=? AND"
    " (CASE level WHEN 'debug' THEN 0 WHEN 'info' THEN 1 WHEN 'warn' THEN 2 ELSE 3 END)>=? ORDER BY n LIMIT ?";
static const char layer_put_sql[] = "INSERT OR REPLACE INTO layers(" LAYER_COLUMNS ") VALUES(?,?,?,?,?,?,?)";
static const char layer_find_sql[] = "UPDATE layers SET used_ms=?2 WHERE key=?1 RETURNING " LAYER_COLUMNS;
static const char layer_drop_sql[] = "DELETE FROM layers WHERE key=?";
static const char layer_each_sql[] = "SELECT " LAYER_COLUMNS " FROM layers ORDER BY used_ms, key";
static const char users_sql[] =
    "SELECT (SELECT count(*) FROM builds WHERE kept=?1) + (SELECT count(*) FROM layers WHERE kept=?1)";
static const char base_keys_sql[] =
    "SELECT base_key FROM builds WHERE kept<>'' UNION SELECT base_key FROM layers"
    " UNION SELECT base_key FROM snapshots UNION SELECT template_key FROM sandboxes WHERE state<>3";
static const char kept_sql[] = "SELECT kept FROM builds WHERE kept<>'' UNION SELECT kept FROM layers";

static void copy(char *dst, size_t size, sqlite3_stmt *st, int col)
{
	(void)str_copy(dst, size, str_of(stmt_col_text(st, col)));
}

int builds_put(struct store *s, const struct build_row *r, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, put_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, r->id);
	stmt_text(st, 2, r->template_id);
	stmt_text(st, 3, r->team);
	stmt_text(st, 4, r->status);
	stmt_text(st, 5, r->base_key);
	stmt_text(st, 6, r->kept);
	stmt_u64(st, 7, r->what);
	stmt_u64(st, 8, r->mem_bytes);
	stmt_u64(st, 9, r->disk_bytes);
	stmt_u64(st, 10, r->cpu_permille);
	stmt_u64(st, 11, r->pids);
	stmt_text(st, 12, r->step);
	stmt_text(st, 13, r->reason);
	stmt_text(st, 14, r->tags);
	stmt_u64(st, 15, r->created_ms);
	stmt_u64(st, 16, r->finished_ms);
	/* A ready build must stay ready after a crash of the host. One in progress fails in a crash anyway. */
	int n = strcmp(r->status, "ready") == 0 ? stmt_run_durably(s, st, e) : stmt_run(s, st, e);

	return n < 0 ? n : 0;
}

static void take_row(sqlite3_stmt *st, struct build_row *r)
{
	*r = (struct build_row) {
		.what = (uint32_t)stmt_col_u64(st, 6),
		.mem_bytes = stmt_col_u64(st, 7),
		.disk_bytes = stmt_col_u64(st, 8),
		.cpu_permille = (uint32_t)stmt_col_u64(st, 9),
		.pids = (uint32_t)stmt_col_u64(st, 10),
		.created_ms = stmt_col_u64(st, 14),
		.finished_ms = stmt_col_u64(st, 15),
	};
	copy(r->id, sizeof r->id, st, 0);
	copy(r->template_id, sizeof r->template_id, st, 1);
	copy(r->team, sizeof r->team, st, 2);
	copy(r->status, sizeof r->status, st, 3);
	copy(r->base_key, sizeof r->base_key, st, 4);
	copy(r->kept, sizeof r->kept, st, 5);
	copy(r->step, sizeof r->step, st, 11);
	copy(r->reason, sizeof r->reason, st, 12);
	copy(r->tags, sizeof r->tags, st, 13);
}

int builds_find(struct store *s, const char *id, struct build_row *ret, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, find_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, id);
	int r = stmt_next(s, st, e);

	if (r <= 0)
		return r < 0 ? r : err_set(e, ENOENT, "no such build");
	take_row(st, ret);
	(void)sqlite3_reset(st);
	return 0;
}

int builds_each(struct store *s, const char *template_id, int (*fn)(void *user, const struct build_row *r), void *user,
    struct err *e)
{
	sqlite3_stmt *st;
	int r;

	if (stmt_get(s, each_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, template_id);
	while ((r = stmt_next(s, st, e)) == 1) {
		struct build_row row;

		take_row(st, &row);
		r = fn(user, &row);
		if (r < 0) {
			(void)sqlite3_reset(st);
			return r;
		}
	}
	return r;
}

int builds_fail_all(struct store *s, const char *why, uint64_t now_ms, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, fail_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, why);
	stmt_u64(st, 2, now_ms);
	return stmt_run(s, st, e);
}

/* One at a time, because fn may use the store, too. */
int builds_strip(struct store *s, int (*fn)(void *user, const char *kept), void *user, struct err *e)
{
	char kept[ID_SIZE];
	sqlite3_stmt *st;
	int r;

	for (;;) {
		if (stmt_get(s, untagged_sql, &st, e) < 0)
			return -e->no;
		r = stmt_next(s, st, e);
		if (r <= 0)
			return r;
		copy(kept, sizeof kept, st, 0);
		(void)sqlite3_reset(st);
		if (stmt_get(s, strip_sql, &st, e) < 0)
			return -e->no;
		stmt_text(st, 1, kept);
		r = stmt_run(s, st, e);
		if (r <= 0)
			return r;
		r = fn(user, kept);
		if (r < 0)
			return r;
	}
}

int build_logs_add(struct store *s, const char *build, const struct build_log *l, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, log_add_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, build);
	stmt_u64(st, 2, l->at_ms);
	stmt_text(st, 3, l->level);
	stmt_text(st, 4, l->step);
	stmt_text(st, 5, l->message);
	int n = stmt_run(s, st, e);

	return n < 0 ? n : 0;
}

int build_logs_each(struct store *s, const char *build, uint64_t from, uint64_t limit, unsigned min_level,
    int (*fn)(void *user, const struct build_log *l), void *user, struct err *e)
{
	sqlite3_stmt *st;
	int r;

	if (stmt_get(s, log_each_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, build);
	stmt_u64(st, 2, from);
	stmt_u64(st, 3, min_level);
	stmt_u64(st, 4, limit);
	while ((r = stmt_next(s, st, e)) == 1) {
		struct build_log l = {
			.at_ms = stmt_col_u64(st, 0),
			.level = stmt_col_text(st, 1),
			.step = stmt_col_text(st, 2),
			.message = stmt_col_text(st, 3),
		};

		r = fn(user, &l);
		if (r < 0) {
			(void)sqlite3_reset(st);
			return r;
		}
	}
	return r;
}

int layers_put(struct store *s, const struct layer_row *r, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, layer_put_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, r->key);
	stmt_text(st, 2, r->base_key);
	stmt_text(st, 3, r->kept);
	stmt_u64(st, 4, r->what);
	stmt_u64(st, 5, r->bytes);
	stmt_u64(st, 6, r->created_ms);
	stmt_u64(st, 7, r->used_ms);
	int n = stmt_run(s, st, e);

	return n < 0 ? n : 0;
}

static void take_layer(sqlite3_stmt *st, struct layer_row *r)
{
	*r = (struct layer_row) {
		.what = (uint32_t)stmt_col_u64(st, 3),
		.bytes = stmt_col_u64(st, 4),
		.created_ms = stmt_col_u64(st, 5),
		.used_ms = stmt_col_u64(st, 6),
	};
	copy(r->key, sizeof r->key, st, 0);
	copy(r->base_key, sizeof r->base_key, st, 1);
	copy(r->kept, sizeof r->kept, st, 2);
}

int layers_find(struct store *s, const char *key, uint64_t now_ms, struct layer_row *ret, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, layer_find_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, key);
	stmt_u64(st, 2, now_ms);
	int r = stmt_next(s, st, e);

	if (r <= 0)
		return r < 0 ? r : err_set(e, ENOENT, "no such layer");
	take_layer(st, ret);
	r = stmt_next(s, st, e); /* to the end, which commits the update */
	return r < 0 ? r : 0;
}

int layers_drop(struct store *s, const char *key, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, layer_drop_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, key);
	int n = stmt_run(s, st, e);

	return n < 0 ? n : 0;
}

int layers_each(struct store *s, int (*fn)(void *user, const struct layer_row *r), void *user, struct err *e)
{
	sqlite3_stmt *st;
	int r;

	if (stmt_get(s, layer_each_sql, &st, e) < 0)
		return -e->no;
	while ((r = stmt_next(s, st, e)) == 1) {
		struct layer_row row;

		take_layer(st, &row);
		r = fn(user, &row);
		if (r < 0) {
			(void)sqlite3_reset(st);
			return r;
		}
	}
	return r;
}

int kept_users(struct store *s, const char *kept, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, users_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, kept);
	int r = stmt_next(s, st, e);

	if (r == 1)
		r = (int)stmt_col_u64(st, 0);
	(void)sqlite3_reset(st);
	return r;
}

static int each_text(struct store *s, const char *sql, int (*fn)(void *user, const char *text), void *user,
    struct err *e)
{
	sqlite3_stmt *st;
	int r;

	if (stmt_get(s, sql, &st, e) < 0)
		return -e->no;
	while ((r = stmt_next(s, st, e)) == 1) {
		r = fn(user, stmt_col_text(st, 0));
		if (r < 0) {
			(void)sqlite3_reset(st);
			return r;
		}
	}
	return r;
}

int kept_each(struct store *s, int (*fn)(void *user, const char *kept), void *user, struct err *e)
{
	return each_text(s, kept_sql, fn, user, e);
}

int base_keys_each(struct store *s, int (*fn)(void *user, const char *key), void *user, struct err *e)
{
	return each_text(s, base_keys_sql, fn, user, e);
}
