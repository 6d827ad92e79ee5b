/* SPDX-License-Identifier: Apache-2.0 */
/* store/uploads: the tables of uploads.db. */
#include "store/uploads.h"

#include "store/db_stmt.h"

#define NUMBER(n) NUMBER_(n)
#define NUMBER_(n) #n

static const char schema[] = "CREATE TABLE IF NOT EXISTS uploads (id INTEGER PRIMARY KEY, team TEXT NOT NULL, hash "
			     "TEXT NOT NULL, bytes INTEGER NOT NULL,"
			     " done INTEGER NOT NULL, used_ms INTEGER NOT NULL) STRICT;"
			     "CREATE INDEX IF NOT EXISTS uploads_name ON uploads(team, hash);"
			     "CREATE TABLE IF NOT EXISTS pieces (upload INTEGER NOT NULL REFERENCES uploads(id) ON "
			     "DELETE CASCADE, n INTEGER NOT NULL,"
			     " data BLOB NOT NULL, PRIMARY KEY(upload, n)) STRICT, WITHOUT ROWID;"
			     "DELETE FROM uploads WHERE done=0;"; /* their senders are gone */

static const char begin_sql[] = "INSERT INTO uploads(team, hash, bytes, done, used_ms) VALUES(?,?,0,0,?) RETURNING id";
static const char put_sql[] = "INSERT INTO pieces(upload, n, data) VALUES(?,?,?)";
static const char grow_sql[] = "UPDATE uploads SET bytes=bytes+?2 WHERE id=?1";
static const char finish_sql[] = "UPDATE uploads SET done=1, bytes=?2 WHERE id=?1";
static const char older_sql[] =
    "DELETE FROM uploads WHERE done=1 AND id<>?1 AND team=(SELECT team FROM uploads WHERE id=?1)"
    " AND hash=(SELECT hash FROM uploads WHERE id=?1)";
static const char drop_sql[] = "DELETE FROM uploads WHERE id=?";
static const char find_sql[] = "UPDATE uploads SET used_ms=?3 WHERE team=?1 AND hash=?2 AND done=1 RETURNING id, bytes";
static const char read_sql[] = "SELECT data FROM pieces WHERE upload=? AND n=?";
static const char sum_sql[] = "SELECT coalesce(sum(bytes + ?), 0) FROM uploads";
/* Of the team that uses most, so that one team cannot evict the recent uploads of others. */
static const char oldest_sql[] = "SELECT id FROM uploads JOIN (SELECT team, sum(bytes + " NUMBER(
    UPLOAD_OVERHEAD) ") AS has FROM uploads"
		     " GROUP BY team) USING (team) WHERE done=1 ORDER BY has DESC, used_ms LIMIT 1";

int uploads_open(const char *path, struct store **ret, struct err *e)
{
	return store_open_cache(path, STORE_ROWS_SMALL, schema, ret, e);
}

int uploads_begin(struct store *s, const char *team, const char *hash, uint64_t now_ms, uint64_t *ret_id, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, begin_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, team);
	stmt_text(st, 2, hash);
	stmt_u64(st, 3, now_ms);
	int r = stmt_next(s, st, e);

	if (r <= 0)
		return r < 0 ? r : err_set(e, EIO, "the upload got no number");
	*ret_id = stmt_col_u64(st, 0);
	r = stmt_next(s, st, e); /* to the end, which commits the update */
	return r < 0 ? r : 0;
}

int uploads_put(struct store *s, uint64_t id, uint64_t n, const void *p, size_t size, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, put_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, id);
	stmt_u64(st, 2, n);
	stmt_blob(st, 3, p, size);
	if (stmt_run(s, st, e) < 0 || stmt_get(s, grow_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, id);
	stmt_u64(st, 2, size);
	int r = stmt_run(s, st, e);

	return r < 0 ? r : 0;
}

static int run_id(struct store *s, const char *sql, uint64_t id, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, id);
	int r = stmt_run(s, st, e);

	return r < 0 ? r : 0;
}

int uploads_finish(struct store *s, uint64_t id, uint64_t bytes, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, finish_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, id);
	stmt_u64(st, 2, bytes);
	int n = stmt_run(s, st, e);

	if (n <= 0)
		return n < 0 ? n : err_set(e, ENOENT, "the upload is gone");
	return run_id(s, older_sql, id, e);
}

int uploads_drop(struct store *s, uint64_t id, struct err *e)
{
	return run_id(s, drop_sql, id, e);
}

int uploads_find(struct store *s, const char *team, const char *hash, uint64_t now_ms, uint64_t *ret_id,
    uint64_t *ret_bytes, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, find_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, team);
	stmt_text(st, 2, hash);
	stmt_u64(st, 3, now_ms);
	int r = stmt_next(s, st, e);

	if (r <= 0)
		return r < 0 ? r : err_set(e, ENOENT, "no such upload");
	*ret_id = stmt_col_u64(st, 0);
	*ret_bytes = stmt_col_u64(st, 1);
	while ((r = stmt_next(s, st, e)) == 1)
		;
	return r < 0 ? r : 0;
}

int uploads_read(struct store *s, uint64_t id, uint64_t n, struct buf *ret, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, read_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, id);
	stmt_u64(st, 2, n);
	int r = stmt_next(s, st, e);

	if (r <= 0)
		return r < 0 ? r : err_set(e, ENOENT, "no such piece of the upload");
	buf_put(ret, sqlite3_column_blob(st, 0), (size_t)sqlite3_column_bytes(st, 0));
	(void)sqlite3_reset(st);
	return ret->bad ? err_set(e, ENOMEM, "out of memory") : 0;
}

static int number(struct store *s, const char *sql, uint64_t *ret, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, sql, &st, e) < 0)
		return -e->no;
	int r = stmt_next(s, st, e);

	if (r == 1)
		*ret = stmt_col_u64(st, 0);
	(void)sqlite3_reset(st);
	return r;
}

int uploads_sum(struct store *s, uint64_t *ret_bytes, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, sum_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, UPLOAD_OVERHEAD);
	int r = stmt_next(s, st, e);

	if (r == 1)
		*ret_bytes = stmt_col_u64(st, 0);
	(void)sqlite3_reset(st);
	return r < 0 ? r : 0;
}

int uploads_trim(struct store *s, uint64_t max_bytes, struct err *e)
{
	uint64_t sum = 0, id = 0;
	int gone = 0;

	while (uploads_sum(s, &sum, e) == 0 && sum > max_bytes) {
		int r = number(s, oldest_sql, &id, e);

		if (r <= 0)
			return r < 0 ? r : gone;
		if (uploads_drop(s, id, e) < 0)
			return -e->no;
		gone++;
	}
	return gone;
}

int uploads_fit(struct store *s, uint64_t max_bytes, struct err *e)
{
	uint64_t sum;

	if (uploads_trim(s, max_bytes, e) < 0 || uploads_sum(s, &sum, e) < 0)
		return -e->no;
	return sum <= max_bytes
	    ? 0
	    : err_set(e, ENOSPC, "files for builds that are being sent take all the room there is for them");
}
