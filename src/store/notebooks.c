/* SPDX-License-Identifier: Apache-2.0 */
/* store/notebooks: the tables of notebooks.db. */
#include "store/notebooks.h"

#include "base/clock.h"
#include "base/str.h"
#include "store/db_stmt.h"

#define NAME_SIZE 64            /* of a sandbox id */
#define CACHE_KEPT (512 * 1024) /* memory that a commit leaves: the pages that the next cells are added to */

/* Stored in place of the team of a dropped notebook; team ids have another form. Deletion goes on after a crash,
 * too. */
#define DROPPED ""
#define PURGED "!"

static const char schema[] = "CREATE TABLE IF NOT EXISTS notebooks (sandbox TEXT PRIMARY KEY, team TEXT NOT NULL, "
			     "bytes INTEGER NOT NULL, cells INTEGER NOT NULL,"
			     " missed INTEGER NOT NULL, ended_ms INTEGER) STRICT, WITHOUT ROWID;"
			     "CREATE INDEX IF NOT EXISTS notebooks_ended ON notebooks(ended_ms);"
			     "CREATE TABLE IF NOT EXISTS cells (sandbox TEXT NOT NULL REFERENCES notebooks(sandbox) ON "
			     "DELETE CASCADE, n INTEGER NOT NULL, context TEXT NOT NULL,"
			     " language TEXT NOT NULL, code TEXT NOT NULL, output BLOB NOT NULL, began_ms INTEGER NOT "
			     "NULL, ms INTEGER NOT NULL, outcome TEXT NOT NULL,"
			     " cut INTEGER NOT NULL, PRIMARY KEY(sandbox, n)) STRICT, WITHOUT ROWID;"
			     "CREATE TABLE IF NOT EXISTS contexts (sandbox TEXT NOT NULL, context TEXT NOT NULL, "
			     "language TEXT NOT NULL, PRIMARY KEY(sandbox, context)) STRICT, WITHOUT ROWID;";

static const char begin_sql[] = "BEGIN";
static const char commit_sql[] = "COMMIT";
static const char rollback_sql[] = "ROLLBACK";
static const char size_sql[] = "SELECT bytes, cells FROM notebooks WHERE sandbox=?";
static const char head_sql[] =
    "INSERT INTO notebooks(sandbox, team, bytes, cells, missed) VALUES(?1,?2,?3,?4,?5) ON CONFLICT DO UPDATE SET"
    " bytes=bytes+excluded.bytes, cells=cells+excluded.cells, missed=missed+excluded.missed";
static const char cell_sql[] = "INSERT INTO cells(sandbox, n, context, language, code, output, began_ms, ms, outcome, "
			       "cut) VALUES(?,?,?,?,?,?,?,?,?,?)";
static const char context_sql[] = "INSERT OR REPLACE INTO contexts(sandbox, context, language) VALUES(?,?,?)";
static const char end_sql[] = "UPDATE notebooks SET ended_ms=? WHERE sandbox=? AND ended_ms IS NULL";
static const char live_sql[] = "SELECT sandbox FROM notebooks WHERE ended_ms IS NULL";
static const char find_sql[] = "SELECT cells, missed, ended_ms FROM notebooks WHERE sandbox=? AND team=?";
static const char language_sql[] =
    "SELECT coalesce(nullif(cells.language,''), contexts.language, ''), count(*) FROM cells LEFT JOIN contexts"
    " ON contexts.sandbox=cells.sandbox AND contexts.context=cells.context WHERE cells.sandbox=? GROUP BY 1 ORDER BY 2 "
    "DESC, 1 LIMIT 1";
static const char contexts_sql[] =
    "SELECT count(*) FROM (SELECT DISTINCT context, CASE WHEN context='' THEN language END FROM cells WHERE sandbox=?)";
static const char next_sql[] =
    "SELECT n, cells.context, coalesce(nullif(cells.language,''), contexts.language, ''), code, output, began_ms, ms, "
    "outcome, cut"
    " FROM cells LEFT JOIN contexts ON contexts.sandbox=cells.sandbox AND contexts.context=cells.context"
    " WHERE cells.sandbox=?1 AND n>?2 AND (?3 IS NULL OR cells.context=?3) ORDER BY n LIMIT 1";
static const char bytes_sql[] = "SELECT coalesce(sum(bytes), 0) FROM notebooks WHERE team NOT IN ('" DROPPED
				"', '" PURGED "')";
static const char drop_ended_sql[] = "UPDATE notebooks SET team='" DROPPED
				     "', ended_ms=0 WHERE ended_ms<? AND team NOT IN ('" DROPPED "', '" PURGED "')";
static const char drop_oldest_sql[] = "UPDATE notebooks SET team='" DROPPED
				      "', ended_ms=0 WHERE sandbox=(SELECT sandbox FROM notebooks"
				      " WHERE ended_ms IS NOT NULL AND team NOT IN ('" DROPPED "', '" PURGED
				      "') ORDER BY ended_ms LIMIT 1)";
static const char drop_team_sql[] = "UPDATE notebooks SET team='" PURGED "', ended_ms=0 WHERE team=?";
static const char dropped_sql[] = "SELECT sandbox, team='" PURGED
				  "' FROM notebooks WHERE ended_ms=0 AND team IN ('" DROPPED "', '" PURGED "') LIMIT 1";
static const char forget_cell_sql[] =
    "DELETE FROM cells WHERE sandbox=?1 AND n=(SELECT min(n) FROM cells WHERE sandbox=?1)";
static const char forget_contexts_sql[] = "DELETE FROM contexts WHERE sandbox=?";
static const char forget_sql[] = "DELETE FROM notebooks WHERE sandbox=?";
static const char overwrite_sql[] = "PRAGMA secure_delete=ON";
static const char leave_sql[] = "PRAGMA secure_delete=OFF";
static const char empty_log_sql[] = "PRAGMA wal_checkpoint(TRUNCATE)";

int notebooks_open(const char *path, struct store **ret, struct err *e)
{
	return store_open_cache(path, STORE_ROWS_LARGE, schema, ret, e);
}

static int run_plain(struct store *s, const char *sql, struct err *e)
{
	sqlite3_stmt *st;
	int r = stmt_get(s, sql, &st, e);

	while (r >= 0 && (r = stmt_next(s, st, e)) == 1)
		;
	return r;
}

int notebooks_begin(struct store *s, struct err *e)
{
	return run_plain(s, begin_sql, e);
}

int notebooks_commit(struct store *s, struct err *e)
{
	int r = run_plain(s, commit_sql, e);

	/* a large cell leaves megabytes in the cache that the next one, of another sandbox, does not need */
	store_trim(s, CACHE_KEPT);
	return r;
}

void notebooks_rollback(struct store *s)
{
	struct err ignored; /* SQLite may have rolled back by itself */

	(void)run_plain(s, rollback_sql, &ignored);
}

int notebooks_size(struct store *s, const char *sandbox, uint64_t *ret_bytes, uint64_t *ret_cells, struct err *e)
{
	sqlite3_stmt *st;

	*ret_bytes = *ret_cells = 0;
	if (stmt_get(s, size_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, sandbox);
	int r = stmt_next(s, st, e);

	if (r == 1) {
		*ret_bytes = stmt_col_u64(st, 0);
		*ret_cells = stmt_col_u64(st, 1);
		(void)sqlite3_reset(st);
	}
	return r < 0 ? r : 0;
}

static int add_to_head(struct store *s, const char *sandbox, const char *team, uint64_t bytes, uint64_t cells,
    uint64_t missed, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, head_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, sandbox);
	stmt_text(st, 2, team);
	stmt_u64(st, 3, bytes);
	stmt_u64(st, 4, cells);
	stmt_u64(st, 5, missed);
	return stmt_run(s, st, e);
}

static void bind_str(sqlite3_stmt *st, int at, struct str v)
{
	(void)sqlite3_bind_text(st, at, v.n ? v.p : "", (int)v.n, SQLITE_TRANSIENT);
}

int notebooks_grow(struct store *s, const char *sandbox, const char *team, uint64_t bytes, uint64_t cells,
    struct err *e)
{
	return add_to_head(s, sandbox, team, bytes, cells, 0, e);
}

int notebooks_add(struct store *s, const char *sandbox, const char *team, const struct cell_row *c, struct err *e)
{
	if (add_to_head(s, sandbox, team, c->code.n + c->output.n, 1, 0, e) < 0)
		return -e->no;
	return notebooks_add_cell(s, sandbox, c, e);
}

int notebooks_add_cell(struct store *s, const char *sandbox, const struct cell_row *c, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, cell_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, sandbox);
	stmt_u64(st, 2, c->n);
	stmt_text(st, 3, c->context);
	stmt_text(st, 4, c->language);
	bind_str(st, 5, c->code);
	stmt_blob(st, 6, c->output.n ? c->output.p : "", c->output.n);
	stmt_u64(st, 7, c->began_ms);
	stmt_u64(st, 8, c->ms);
	stmt_text(st, 9, c->outcome);
	stmt_u64(st, 10, c->cut);
	return stmt_run(s, st, e);
}

int notebooks_missed(struct store *s, const char *sandbox, const char *team, struct err *e)
{
	return add_to_head(s, sandbox, team, 0, 0, 1, e);
}

int notebooks_context(struct store *s, const char *sandbox, const char *context, const char *language, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, context_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, sandbox);
	stmt_text(st, 2, context);
	stmt_text(st, 3, language);
	return stmt_run(s, st, e);
}

int notebooks_end(struct store *s, const char *sandbox, uint64_t now_ms, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, end_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, now_ms);
	stmt_text(st, 2, sandbox);
	return stmt_run(s, st, e);
}

int notebooks_live(struct store *s, void (*fn)(void *user, const char *sandbox), void *user, struct err *e)
{
	sqlite3_stmt *st;
	int r;

	if (stmt_get(s, live_sql, &st, e) < 0)
		return -e->no;
	while ((r = stmt_next(s, st, e)) == 1)
		fn(user, stmt_col_text(st, 0));
	return r;
}

int notebooks_find(struct store *s, const char *sandbox, const char *team, struct notebook_head *ret, struct err *e)
{
	struct notebook_head h = { 0 };
	sqlite3_stmt *st;
	int r;

	if (stmt_get(s, find_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, sandbox);
	stmt_text(st, 2, team);
	r = stmt_next(s, st, e);
	if (r <= 0)
		return r < 0 ? r : err_set(e, ENOENT, "no notebook of '%s'", sandbox);
	h.cells = stmt_col_u64(st, 0);
	h.missed = stmt_col_u64(st, 1);
	h.ended_ms = stmt_col_u64(st, 2);
	(void)sqlite3_reset(st);
	if (stmt_get(s, language_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, sandbox);
	if ((r = stmt_next(s, st, e)) == 1) {
		(void)str_copy(h.language, sizeof h.language, str_of(stmt_col_text(st, 0)));
		(void)sqlite3_reset(st);
	}
	if (r < 0 || stmt_get(s, contexts_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, sandbox);
	if ((r = stmt_next(s, st, e)) == 1) {
		h.contexts = stmt_col_u64(st, 0);
		(void)sqlite3_reset(st);
	}
	*ret = h;
	return r < 0 ? r : 0;
}

int notebooks_next(struct store *s, const char *sandbox, const char *context, uint64_t after, struct cell_row *ret,
    struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, next_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, sandbox);
	stmt_u64(st, 2, after);
	stmt_text(st, 3, context);
	int r = stmt_next(s, st, e);

	if (r == 1)
		*ret = (struct cell_row) {
			.n = stmt_col_u64(st, 0),
			.context = stmt_col_text(st, 1),
			.language = stmt_col_text(st, 2),
			.code = { stmt_col_text(st, 3), (size_t)sqlite3_column_bytes(st, 3) },
			.output = { sqlite3_column_blob(st, 4), (size_t)sqlite3_column_bytes(st, 4) },
			.began_ms = stmt_col_u64(st, 5),
			.ms = stmt_col_u64(st, 6),
			.outcome = stmt_col_text(st, 7),
			.cut = stmt_col_u64(st, 8) != 0,
		};
	return r;
}

int notebooks_bytes(struct store *s, uint64_t *ret, struct err *e)
{
	sqlite3_stmt *st;

	*ret = 0;
	if (stmt_get(s, bytes_sql, &st, e) < 0)
		return -e->no;
	int r = stmt_next(s, st, e);

	if (r == 1) {
		*ret = stmt_col_u64(st, 0);
		(void)sqlite3_reset(st);
	}
	return r < 0 ? r : 0;
}

int notebooks_drop_ended(struct store *s, uint64_t before_ms, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, drop_ended_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, before_ms);
	return stmt_run(s, st, e);
}

int notebooks_drop_oldest(struct store *s, struct err *e)
{
	sqlite3_stmt *st;

	return stmt_get(s, drop_oldest_sql, &st, e) < 0 ? -e->no : stmt_run(s, st, e);
}

static int run_name(struct store *s, const char *sql, const char *name, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, name);
	return stmt_run(s, st, e);
}

int notebooks_drop_team(struct store *s, const char *team, struct err *e)
{
	return run_name(s, drop_team_sql, team, e);
}

static int find_dropped(struct store *s, char ret[NAME_SIZE], bool *ret_overwrite, struct err *e)
{
	sqlite3_stmt *st;
	int r = stmt_get(s, dropped_sql, &st, e) < 0 ? -e->no : stmt_next(s, st, e);

	if (r == 1) {
		(void)str_copy(ret, NAME_SIZE, str_of(stmt_col_text(st, 0)));
		*ret_overwrite = stmt_col_u64(st, 1);
		(void)sqlite3_reset(st);
	}
	return r;
}

/* Deletes one cell at a time, each of at most 12 MB. 1: all are deleted. */
static int forget_one(struct store *s, const char *sandbox, uint64_t until_ms, struct err *e)
{
	int n;

	while ((n = run_name(s, forget_cell_sql, sandbox, e)) > 0) {
		if (clock_mono_ms() >= until_ms)
			return 0;
	}
	if (n < 0 || run_name(s, forget_contexts_sql, sandbox, e) < 0 || run_name(s, forget_sql, sandbox, e) < 0)
		return -e->no;
	return 1;
}

int notebooks_forget_some(struct store *s, uint64_t max_ms, struct err *e)
{
	uint64_t until_ms = clock_mono_ms() + max_ms;
	char sandbox[NAME_SIZE];
	bool overwrite = false, overwritten = false;
	struct err ignored;
	int r;

	while ((r = find_dropped(s, sandbox, &overwrite, e)) == 1) {
		if (overwrite && !overwritten && run_plain(s, overwrite_sql, e) < 0)
			return -e->no;
		overwritten |= overwrite;
		r = forget_one(s, sandbox, until_ms, e);
		if (r < 0 || clock_mono_ms() >= until_ms)
			break;
	}
	bool over = r < 0 || find_dropped(s, sandbox, &overwrite, e) == 0;

	if (overwritten)
		(void)run_plain(s, leave_sql, &ignored);
	if (overwritten && over && r >= 0)
		(void)run_plain(s, empty_log_sql, &ignored); /* the WAL file contains the old data, too */
	return r < 0 ? r : !over;
}
