/* SPDX-License-Identifier: Apache-2.0 */
/* store/db: opening and migrating the SQLite file, and its statement cache. */
#include "store/db.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "store/db_stmt.h"

#define STMTS_MAX 256
#define BUSY_MS 2000 /* only a user of the sqlite3 shell can hold the lock */

struct store {
	sqlite3 *db;
	struct {
		const char *sql;
		sqlite3_stmt *st;
	} stmts[STMTS_MAX];
	size_t n_stmts;
};

/* Entry n migrates a file of version n to n + 1. Never edit a released entry: add another. */
static const char *const migrations[] = {
	"CREATE TABLE teams ("
	" id TEXT PRIMARY KEY,"
	" name TEXT NOT NULL,"
	" is_default INTEGER NOT NULL DEFAULT 0,"
	" created_ms INTEGER NOT NULL) STRICT;"
	"CREATE TABLE keys ("
	" hash BLOB PRIMARY KEY," /* SHA-256 of the key, never the key */
	" team TEXT NOT NULL REFERENCES teams(id) ON DELETE CASCADE,"
	" name TEXT NOT NULL,"
	" created_ms INTEGER NOT NULL) STRICT;"
	"CREATE TABLE sandboxes ("
	" id TEXT PRIMARY KEY,"
	" team TEXT NOT NULL,"
	" template_id TEXT NOT NULL,"
	" template_name TEXT NOT NULL,"
	" template_key TEXT NOT NULL,"
	" state INTEGER NOT NULL,"
	" created_ms INTEGER NOT NULL,"
	" started_us INTEGER NOT NULL,"
	" end_ms INTEGER NOT NULL,"
	" timeout_s INTEGER NOT NULL,"
	" flags INTEGER NOT NULL,"
	" mem_bytes INTEGER NOT NULL,"
	" disk_bytes INTEGER NOT NULL,"
	" cpu_permille INTEGER NOT NULL,"
	" pids INTEGER NOT NULL,"
	" envd_token TEXT,"
	" traffic_token TEXT,"
	" metadata TEXT," /* JSON objects */
	" env_vars TEXT,"
	" network TEXT,"
	" ended_ms INTEGER,"
	" end_reason TEXT) STRICT;"
	"CREATE INDEX sandboxes_state ON sandboxes(state);",

	/* Teams with limits, keys with an id. Version 1 had only the local key, which is added again at each
	 * start. */
	"ALTER TABLE teams ADD COLUMN blocked INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE teams ADD COLUMN max_sandboxes INTEGER;" /* NULL: the server's default */
	"ALTER TABLE teams ADD COLUMN rate_limit INTEGER;"
	"CREATE UNIQUE INDEX teams_name ON teams(name);"
	"DROP TABLE keys;"
	"CREATE TABLE keys ("
	" id TEXT PRIMARY KEY,"
	" hash BLOB NOT NULL UNIQUE," /* SHA-256 of the key, never the key */
	" team TEXT NOT NULL REFERENCES teams(id) ON DELETE CASCADE,"
	" name TEXT NOT NULL,"
	" head TEXT NOT NULL," /* the part of the key that may be shown */
	" tail TEXT NOT NULL,"
	" length INTEGER NOT NULL,"
	" admin INTEGER NOT NULL,"
	" local INTEGER NOT NULL," /* the key in the file of the state directory */
	" created_ms INTEGER NOT NULL,"
	" used_ms INTEGER,"
	" expires_ms INTEGER) STRICT;"
	"CREATE INDEX keys_team ON keys(team);"
	"ALTER TABLE sandboxes ADD COLUMN active_ms INTEGER;",

	"CREATE TABLE team_points ("
	" team TEXT NOT NULL,"
	" at_s INTEGER NOT NULL,"
	" running INTEGER NOT NULL,"
	" starts INTEGER NOT NULL,"
	" PRIMARY KEY(team, at_s)) STRICT, WITHOUT ROWID;",

	/* The saved disk and memory of paused sandboxes. */
	"ALTER TABLE sandboxes ADD COLUMN kept_name TEXT;"
	"ALTER TABLE sandboxes ADD COLUMN kept INTEGER NOT NULL DEFAULT 0;",

	"CREATE TABLE logs ("
	" id TEXT PRIMARY KEY," /* of the sandbox */
	" team TEXT NOT NULL,"
	" gen INTEGER NOT NULL," /* the current generation */
	" seq INTEGER NOT NULL,"
	" gen_bytes INTEGER NOT NULL,"
	" old_bytes INTEGER NOT NULL," /* of the generation before */
	" ended_ms INTEGER) STRICT;"
	"CREATE INDEX logs_ended ON logs(ended_ms) WHERE ended_ms IS NOT NULL;"
	"CREATE TABLE log_pieces ("
	" id TEXT NOT NULL REFERENCES logs(id) ON DELETE CASCADE,"
	" gen INTEGER NOT NULL,"
	" seq INTEGER NOT NULL,"
	" bytes BLOB NOT NULL,"
	" PRIMARY KEY(id, gen, seq)) STRICT;",

	"CREATE TABLE secrets ("
	" id TEXT PRIMARY KEY,"
	" team TEXT NOT NULL REFERENCES teams(id) ON DELETE CASCADE,"
	" name TEXT NOT NULL,"
	" version INTEGER NOT NULL,"
	" sealed BLOB NOT NULL," /* encrypted with a key that is not in this file */
	" metadata TEXT NOT NULL,"
	" created_ms INTEGER NOT NULL,"
	" updated_ms INTEGER NOT NULL) STRICT;"
	"CREATE UNIQUE INDEX secrets_name ON secrets(team, name);",

	"CREATE TABLE snapshots ("
	" template_id TEXT NOT NULL,"
	" tag TEXT NOT NULL,"
	" team TEXT NOT NULL,"
	" alias TEXT,"
	" source TEXT NOT NULL,"
	" kept_name TEXT NOT NULL,"
	" kept INTEGER NOT NULL,"
	" base_id TEXT NOT NULL,"
	" base_name TEXT NOT NULL,"
	" base_key TEXT NOT NULL,"
	" mem_bytes INTEGER NOT NULL,"
	" disk_bytes INTEGER NOT NULL,"
	" cpu_permille INTEGER NOT NULL,"
	" pids INTEGER NOT NULL,"
	" created_ms INTEGER NOT NULL,"
	" PRIMARY KEY(template_id, tag)) STRICT;",

	"CREATE TABLE templates ("
	" id TEXT PRIMARY KEY,"
	" team TEXT NOT NULL REFERENCES teams(id) ON DELETE CASCADE,"
	" name TEXT NOT NULL,"
	" is_public INTEGER NOT NULL,"
	" created_ms INTEGER NOT NULL,"
	" updated_ms INTEGER NOT NULL,"
	" spawned_ms INTEGER NOT NULL,"
	" spawn_count INTEGER NOT NULL) STRICT;"
	"CREATE UNIQUE INDEX templates_name ON templates(team, name);"
	"CREATE TABLE builds ("
	" id TEXT PRIMARY KEY,"
	" template_id TEXT NOT NULL REFERENCES templates(id) ON DELETE CASCADE,"
	" team TEXT NOT NULL,"
	" status TEXT NOT NULL,"
	" base_key TEXT NOT NULL,"
	" kept TEXT NOT NULL,"
	" what INTEGER NOT NULL,"
	" mem_bytes INTEGER NOT NULL,"
	" disk_bytes INTEGER NOT NULL,"
	" cpu_permille INTEGER NOT NULL,"
	" pids INTEGER NOT NULL,"
	" step TEXT NOT NULL,"
	" reason TEXT NOT NULL,"
	" tags TEXT NOT NULL,"
	" created_ms INTEGER NOT NULL,"
	" finished_ms INTEGER NOT NULL) STRICT;"
	"CREATE INDEX builds_template ON builds(template_id);"
	"CREATE INDEX builds_kept ON builds(kept);"
	"CREATE TABLE template_tags ("
	" template_id TEXT NOT NULL REFERENCES templates(id) ON DELETE CASCADE,"
	" tag TEXT NOT NULL,"
	" build_id TEXT NOT NULL,"
	" created_ms INTEGER NOT NULL,"
	" PRIMARY KEY(template_id, tag)) STRICT;"
	"CREATE TABLE build_logs ("
	" build TEXT NOT NULL REFERENCES builds(id) ON DELETE CASCADE,"
	" n INTEGER NOT NULL,"
	" at_ms INTEGER NOT NULL,"
	" level TEXT NOT NULL,"
	" step TEXT NOT NULL,"
	" message TEXT NOT NULL,"
	" PRIMARY KEY(build, n)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE layers ("
	" key TEXT PRIMARY KEY,"
	" base_key TEXT NOT NULL,"
	" kept TEXT NOT NULL,"
	" what INTEGER NOT NULL,"
	" bytes INTEGER NOT NULL,"
	" created_ms INTEGER NOT NULL,"
	" used_ms INTEGER NOT NULL) STRICT;"
	"CREATE INDEX layers_kept ON layers(kept);",

	"CREATE TABLE volumes ("
	" id TEXT PRIMARY KEY," /* the warden's name for it, too */
	" team TEXT NOT NULL,"  /* the volume outlives its row: no cascade */
	" name TEXT NOT NULL,"
	" token TEXT NOT NULL,"
	" bytes INTEGER NOT NULL,"
	" state INTEGER NOT NULL,"
	" created_ms INTEGER NOT NULL) STRICT;"
	"CREATE UNIQUE INDEX volumes_name ON volumes(team, name) WHERE state<>2;"
	"ALTER TABLE sandboxes ADD COLUMN volumes TEXT;" /* JSON: [{id, name, path}] */
	"ALTER TABLE snapshots ADD COLUMN volumes TEXT;",

	/* More limits, the creator of a sandbox, and the bytes it sent in earlier runs. */
	"ALTER TABLE sandboxes ADD COLUMN key_id TEXT;"
	"ALTER TABLE sandboxes ADD COLUMN sent_bytes INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE sandboxes ADD COLUMN swap_bytes INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE sandboxes ADD COLUMN io_bytes_s INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE sandboxes ADD COLUMN io_ops_s INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE sandboxes ADD COLUMN egress_bytes INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE sandboxes ADD COLUMN egress_bytes_s INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE sandboxes ADD COLUMN open_files INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE teams ADD COLUMN quota TEXT;" /* JSON; NULL: none */
	"ALTER TABLE keys ADD COLUMN quota TEXT;"
	"CREATE TABLE quota_use ("
	" owner TEXT NOT NULL,"  /* a team or a key */
	" day INTEGER NOT NULL," /* since 1970, UTC */
	" cpu_ms INTEGER NOT NULL,"
	" sent_bytes INTEGER NOT NULL,"
	" PRIMARY KEY(owner, day)) STRICT, WITHOUT ROWID;",

	"CREATE TABLE meter ("
	" sandbox TEXT NOT NULL,"
	" day INTEGER NOT NULL," /* since 1970, UTC */
	" team TEXT NOT NULL,"
	" key TEXT NOT NULL," /* its id; the key itself may be deleted */
	" template TEXT NOT NULL,"
	" metadata TEXT,"
	" running_ms INTEGER NOT NULL,"
	" cpu_permille_ms INTEGER NOT NULL,"
	" mib_ms INTEGER NOT NULL,"
	" until_ms INTEGER NOT NULL,"
	" PRIMARY KEY(sandbox, day)) STRICT, WITHOUT ROWID;"
	"CREATE INDEX meter_day ON meter(day);",

	"ALTER TABLE meter ADD COLUMN sent_bytes INTEGER NOT NULL DEFAULT 0;",

	"CREATE TABLE events ("
	" seq INTEGER PRIMARY KEY,"
	" id TEXT NOT NULL,"
	" team TEXT NOT NULL,"
	" sandbox TEXT NOT NULL,"
	" type TEXT NOT NULL,"
	" at_ms INTEGER NOT NULL,"
	" execution TEXT NOT NULL,"
	" template TEXT NOT NULL,"
	" build TEXT NOT NULL,"
	" data TEXT NOT NULL) STRICT;"
	"CREATE INDEX events_team ON events(team, seq);"
	"CREATE INDEX events_sandbox ON events(sandbox, seq);"
	"CREATE INDEX events_at ON events(at_ms);"
	"CREATE TABLE webhooks ("
	" id TEXT PRIMARY KEY,"
	" team TEXT NOT NULL REFERENCES teams(id) ON DELETE CASCADE,"
	" name TEXT NOT NULL,"
	" url TEXT NOT NULL,"
	" events TEXT NOT NULL,"
	" enabled INTEGER NOT NULL,"
	" sealed BLOB NOT NULL," /* the signing key of deliveries, encrypted with a key that is not in this file */
	" created_ms INTEGER NOT NULL) STRICT;"
	"CREATE INDEX webhooks_team ON webhooks(team);"
	"CREATE TABLE deliveries ("
	" seq INTEGER PRIMARY KEY,"
	" id TEXT NOT NULL,"
	" webhook TEXT NOT NULL REFERENCES webhooks(id) ON DELETE CASCADE,"
	" event INTEGER NOT NULL,"
	" state INTEGER NOT NULL,"
	" attempts INTEGER NOT NULL,"
	" created_ms INTEGER NOT NULL,"
	" last_ms INTEGER NOT NULL,"
	" outcome INTEGER NOT NULL,"
	" status INTEGER NOT NULL,"
	" took_ms INTEGER NOT NULL,"
	" error TEXT NOT NULL) STRICT;"
	"CREATE INDEX deliveries_webhook ON deliveries(webhook, seq);"
	"CREATE INDEX deliveries_waiting ON deliveries(webhook, seq) WHERE state=0;"
	"CREATE INDEX deliveries_event ON deliveries(event) WHERE state=0;"
	"CREATE INDEX deliveries_created ON deliveries(created_ms);",

	"CREATE TABLE capacity ("
	" hour INTEGER PRIMARY KEY," /* since 1970, UTC */
	" sandboxes INTEGER NOT NULL,"
	" mem_bytes INTEGER NOT NULL,"
	" limit_bytes INTEGER NOT NULL,"
	" cpu_permille INTEGER NOT NULL,"
	" starts INTEGER NOT NULL,"
	" pool_hits INTEGER NOT NULL,"
	" pool_misses INTEGER NOT NULL) STRICT;",

	"ALTER TABLE sandboxes ADD COLUMN build TEXT;",

	/* The boot of the host in which a front ran last: one row, or none if no front has used the file since. */
	"CREATE TABLE host ("
	" one INTEGER PRIMARY KEY CHECK(one=1),"
	" boot_id TEXT NOT NULL) STRICT;",

	/* What a sandbox is a copy of: its fork, or started from its snapshot. */
	"ALTER TABLE sandboxes ADD COLUMN parent TEXT;",
};

static int db_fail(struct store *s, struct err *e, const char *what)
{
	int code = sqlite3_errcode(s->db), precise = sqlite3_extended_errcode(s->db);
	bool taken = precise == SQLITE_CONSTRAINT_UNIQUE || precise == SQLITE_CONSTRAINT_PRIMARYKEY;
	bool damaged = code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
	int no = code == SQLITE_FULL ? ENOSPC
	    : code == SQLITE_NOMEM   ? ENOMEM
	    : code == SQLITE_BUSY    ? EBUSY
	    : taken                  ? EEXIST
	    : damaged                ? EUCLEAN
				     : EIO;

	if (code == SQLITE_READONLY || (code == SQLITE_IOERR && sqlite3_system_errno(s->db) == EROFS))
		return err_set(e, EROFS, "%s: it cannot be written to: it, or its file system, is read-only", what);
	return err_set(e, no, "%s: %s%s", what, damaged ? "it is damaged: " : "", sqlite3_errmsg(s->db));
}

static int db_exec(struct store *s, const char *sql, struct err *e)
{
	if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return db_fail(s, e, "state file");
	return 0;
}

int stmt_get(struct store *s, const char *sql, sqlite3_stmt **ret, struct err *e)
{
	for (size_t i = 0; i < s->n_stmts; i++) {
		if (s->stmts[i].sql != sql)
			continue;
		(void)sqlite3_reset(s->stmts[i].st);
		(void)sqlite3_clear_bindings(s->stmts[i].st);
		*ret = s->stmts[i].st;
		return 0;
	}
	if (s->n_stmts == STMTS_MAX)
		return err_set(e, ENOSPC, "state file: more kinds of statements than planned");

	sqlite3_stmt *st;

	if (sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &st, NULL) != SQLITE_OK)
		return db_fail(s, e, "state file");
	s->stmts[s->n_stmts].sql = sql;
	s->stmts[s->n_stmts++].st = st;
	*ret = st;
	return 0;
}

void stmt_text(sqlite3_stmt *st, int at, const char *z)
{
	/* A failed bind leaves NULL, which the NOT NULL constraints then reject. */
	if (z)
		(void)sqlite3_bind_text(st, at, z, -1, SQLITE_TRANSIENT);
}

void stmt_u64(sqlite3_stmt *st, int at, uint64_t v)
{
	(void)sqlite3_bind_int64(st, at, (sqlite3_int64)v);
}

void stmt_blob(sqlite3_stmt *st, int at, const void *p, size_t n)
{
	(void)sqlite3_bind_blob64(st, at, p, n, SQLITE_TRANSIENT);
}

int stmt_run(struct store *s, sqlite3_stmt *st, struct err *e)
{
	int rc = sqlite3_step(st);

	if (rc != SQLITE_DONE) {
		int r = db_fail(s, e, "state file");

		(void)sqlite3_reset(st);
		return r;
	}
	(void)sqlite3_reset(st);
	return sqlite3_changes(s->db);
}

int stmt_next(struct store *s, sqlite3_stmt *st, struct err *e)
{
	int rc = sqlite3_step(st);

	if (rc == SQLITE_ROW)
		return 1;

	int r = rc == SQLITE_DONE ? 0 : db_fail(s, e, "state file");

	(void)sqlite3_reset(st);
	return r;
}

int store_durable(struct store *s, bool on, struct err *e)
{
	return db_exec(s, on ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL", e);
}

int stmt_run_durably(struct store *s, sqlite3_stmt *st, struct err *e)
{
	struct err ignored;

	if (store_durable(s, true, e) < 0)
		return -e->no;
	int n = stmt_run(s, st, e);

	(void)store_durable(s, false, &ignored);
	return n;
}

const char *stmt_col_text(sqlite3_stmt *st, int col)
{
	return (const char *)sqlite3_column_text(st, col);
}

uint64_t stmt_col_u64(sqlite3_stmt *st, int col)
{
	return (uint64_t)sqlite3_column_int64(st, col);
}

int store_version(struct store *s)
{
	sqlite3_stmt *st;
	int v = -EIO;

	if (sqlite3_prepare_v2(s->db, "PRAGMA user_version", -1, &st, NULL) != SQLITE_OK)
		return -EIO;
	if (sqlite3_step(st) == SQLITE_ROW)
		v = sqlite3_column_int(st, 0);
	(void)sqlite3_finalize(st);
	return v;
}

static int migrate(struct store *s, struct err *e)
{
	int have = store_version(s);

	if (have < 0)
		return db_fail(s, e, "read the version of the state file");
	if ((size_t)have > ARRAY_LEN(migrations))
		return err_set(e, EPROTO,
		    "state file has version %d, this program knows %zu: it was written by a newer atoll", have,
		    ARRAY_LEN(migrations));
	for (size_t v = (size_t)have; v < ARRAY_LEN(migrations); v++) {
		autofree char *set = str_fmt("PRAGMA user_version=%zu", v + 1);
		int r = set ? db_exec(s, "BEGIN IMMEDIATE", e) : err_set(e, ENOMEM, "compose");

		if (r >= 0)
			r = db_exec(s, migrations[v], e);
		if (r >= 0)
			r = db_exec(s, set, e);
		if (r >= 0)
			r = db_exec(s, "COMMIT", e);
		if (r < 0) {
			(void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
			return err_wrap(e, "migrate to version %zu", v + 1);
		}
	}
	return 0;
}

static int open_file(const char *path, struct store **ret, struct err *e)
{
	struct store *s = calloc(1, sizeof *s);

	if (!s)
		return err_set(e, ENOMEM, "open '%s'", path);
	if (sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL) !=
	    SQLITE_OK) {
		int r = s->db ? db_fail(s, e, "open the state file") : err_set(e, ENOMEM, "open the state file");

		store_close(s);
		return r;
	}
	(void)sqlite3_busy_timeout(s->db, BUSY_MS);
	*ret = s;
	return 0;
}

static int refuse_read_only(struct err *e)
{
	return err_set(e, EROFS, "state file: it cannot be written to: it, or its file system, is read-only");
}

/* Before it is opened: SQLite would make its -shm file as read-only as the database, and that stays so when the
 * database is repaired. */
static int check_access(const char *path, struct err *e)
{
	return access(path, W_OK) < 0 && (errno == EACCES || errno == EROFS) ? refuse_read_only(e) : 0;
}

/* SQLite silently opens a read-only file. Without this check the first write would fail, in the middle of an
 * operation. */
static int check_writable(struct store *s, struct err *e)
{
	return sqlite3_db_readonly(s->db, "main") == 1 ? refuse_read_only(e) : 0;
}

int store_open(const char *path, struct store **ret, struct err *e)
{
	struct store *s = NULL;

	if (check_access(path, e) < 0)
		return err_wrap(e, "open '%s'", path);
	if (open_file(path, &s, e) < 0)
		return -e->no;
	/* temp_store: no file may be opened later, under the seccomp filter. */
	if (db_exec(s,
		"PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA temp_store=MEMORY;"
		"PRAGMA foreign_keys=ON; PRAGMA cache_size=-1024; PRAGMA journal_size_limit=4194304;",
		e) < 0 ||
	    migrate(s, e) < 0 || check_writable(s, e) < 0) {
		store_close(s);
		return err_wrap(e, "open '%s'", path);
	}
	*ret = s;
	return 0;
}

void store_trim(struct store *s, size_t above)
{
	int used = 0, most;

	if (sqlite3_db_status(s->db, SQLITE_DBSTATUS_CACHE_USED, &used, &most, 0) == SQLITE_OK && used >= 0 &&
	    (size_t)used > above)
		(void)sqlite3_db_release_memory(s->db);
}

/* Keeps one copy of the damaged file for analysis. */
static void put_aside(const char *path)
{
	static const char *const ends[] = { "", "-wal", "-shm" };

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		autofree char *name = str_fmt("%s%s", path, ends[i]), *aside = str_fmt("%s.damaged%s", path, ends[i]);

		if (name && aside && rename(name, aside) < 0 && errno != ENOENT)
			(void)unlink(name);
	}
}

int store_open_cache(const char *path, enum store_rows rows, const char *schema, struct store **ret, struct err *e)
{
	/* Both let the WAL file grow to about the same size before it is checkpointed. */
	static const char *const sizes[] = {
		[STORE_ROWS_SMALL] = "PRAGMA cache_size=-2048;",
		[STORE_ROWS_LARGE] = "PRAGMA page_size=16384; PRAGMA cache_size=-8192; PRAGMA wal_autocheckpoint=256;",
	};
	struct store *s = NULL;

	for (int i = 0;; i++) {
		if (open_file(path, &s, e) < 0)
			return -e->no;
		/* The first write creates the files that writing needs, while that is still allowed. */
		if (db_exec(s, sizes[rows], e) == 0 &&
		    db_exec(s,
			"PRAGMA auto_vacuum=FULL; PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; PRAGMA "
			"temp_store=MEMORY;"
			"PRAGMA foreign_keys=ON; PRAGMA journal_size_limit=4194304;",
			e) == 0 &&
		    db_exec(s, schema, e) == 0)
			break;

		int rc = sqlite3_errcode(s->db);

		store_close(s);
		if (i > 0 || (rc != SQLITE_CORRUPT && rc != SQLITE_NOTADB))
			return err_wrap(e, "open '%s'", path);
		put_aside(path); /* damaged by a crash of the host: the contents can be recreated */
	}
	*ret = s;
	return 0;
}

int store_open_read(const char *path, struct store **ret, struct err *e)
{
	struct store *s = NULL;

	if (access(path, F_OK) < 0)
		return err_sys(e, "open '%s'", path);
	s = calloc(1, sizeof *s);
	if (!s)
		return err_set(e, ENOMEM, "open '%s'", path);
	if (sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
		(void)(s->db ? db_fail(s, e, "open the state file") : err_set(e, ENOMEM, "open '%s'", path));
		store_close(s);
		return -e->no;
	}
	(void)sqlite3_busy_timeout(s->db, BUSY_MS);
	*ret = s;
	return 0;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_stmts; i++)
		(void)sqlite3_finalize(s->stmts[i].st);
	(void)sqlite3_close(s->db);
	free(s);
}
