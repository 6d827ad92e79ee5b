/* SPDX-License-Identifier: Apache-2.0 */
/* store/copy: uses SQLite's online backup. */
#include "store/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/str.h"
#include "store/db.h"
#include "store/db_stmt.h"

#define BUSY_MS 10000

static int fail(sqlite3 *db, struct err *e, const char *what, const char *path)
{
	int code = db ? sqlite3_errcode(db) : SQLITE_NOMEM;

	return err_set(e,
	    code == SQLITE_FULL       ? ENOSPC
		: code == SQLITE_BUSY ? EBUSY
				      : EIO,
	    "%s '%s': %s", what, path, db ? sqlite3_errmsg(db) : "out of memory");
}

static int is_whole(sqlite3 *db, const char *path, struct err *e)
{
	sqlite3_stmt *st = NULL;
	int r = sqlite3_prepare_v2(db, "PRAGMA integrity_check(1)", -1, &st, NULL);

	if (r != SQLITE_OK || sqlite3_step(st) != SQLITE_ROW)
		(void)fail(db, e, "check", path);
	else if (strcmp((const char *)sqlite3_column_text(st, 0), "ok") != 0)
		(void)err_set(e, EBADMSG, "'%s' is damaged: %s", path, (const char *)sqlite3_column_text(st, 0));
	(void)sqlite3_finalize(st);
	return -e->no;
}

static int copy_all(sqlite3 *from, sqlite3 *to, const char *path, struct err *e)
{
	sqlite3_backup *b = sqlite3_backup_init(to, "main", from, "main");

	if (!b)
		return fail(to, e, "copy to", path);
	int r = sqlite3_backup_step(b, -1);

	(void)sqlite3_backup_finish(b);
	if (r != SQLITE_DONE)
		return fail(to, e, "copy to", path);
	/* One file, without a WAL file that could be forgotten when it is copied further. */
	if (sqlite3_exec(to, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL) != SQLITE_OK)
		return fail(to, e, "finish", path);
	return is_whole(to, path, e);
}

/* The front owns the files of the database and may have replaced them: a symbolic link would lead root
 * elsewhere, and a FIFO would block it. */
static int check_files(const char *path, struct err *e)
{
	static const char *const more[] = { "", "-wal", "-shm", "-journal" };

	for (size_t i = 0; i < ARRAY_LEN(more); i++) {
		autofree char *name = str_fmt("%s%s", path, more[i]);
		struct stat st;

		if (!name)
			return err_set(e, ENOMEM, "out of memory");
		if (lstat(name, &st) == 0 ? !S_ISREG(st.st_mode) : errno != ENOENT)
			return err_set(e, EBADMSG, "'%s' is no regular file", name);
	}
	return 0;
}

int store_copy(const char *from, const char *to, struct err *e)
{
	char real[PATH_MAX];

	if (!realpath(from, real)) /* the directories above are root's, and may contain links */
		return err_sys(e, "open '%s'", from);
	if (check_files(from, e) < 0)
		return -e->no;
	from = real;
	sqlite3 *a = NULL, *b = NULL;
	autoclose int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_sys(e, "create '%s'", to);
	if (sqlite3_open_v2(from, &a, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOFOLLOW, NULL) != SQLITE_OK)
		(void)fail(a, e, "open", from);
	else if (sqlite3_open_v2(to, &b, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		(void)fail(b, e, "create", to);
	else if (sqlite3_busy_timeout(a, BUSY_MS) == SQLITE_OK)
		(void)copy_all(a, b, to, e);
	(void)sqlite3_close(a);
	(void)sqlite3_close(b);
	return -e->no;
}

static const struct {
	enum store_part what;
	const char *sql;
} parts[] = {
	{ STORE_KEPT,
	    "SELECT kept_name, 0 FROM sandboxes WHERE state=2 AND kept_name IS NOT NULL AND kept<>0 UNION SELECT "
	    "kept_name, 0 FROM snapshots"
	    " UNION SELECT kept, 0 FROM builds WHERE kept<>'' AND status='ready' UNION SELECT kept, 0 FROM layers "
	    "WHERE kept<>''" },
	{ STORE_VOLUME, "SELECT id, bytes FROM volumes WHERE state=1" },
	/* KEPT_DISK only */
	{ STORE_UNWRITTEN, "SELECT id, 0 FROM sandboxes WHERE state=2 AND kept_name IS NOT NULL AND kept=1" },
};

static int each(sqlite3 *db, const char *path, size_t i, store_part_fn *fn, void *user, struct err *e)
{
	sqlite3_stmt *st = NULL;
	int r = sqlite3_prepare_v2(db, parts[i].sql, -1, &st, NULL), no = 0;

	if (r != SQLITE_OK)
		return fail(db, e, "read", path);
	while (no >= 0 && (r = sqlite3_step(st)) == SQLITE_ROW)
		no = fn(user, parts[i].what, (const char *)sqlite3_column_text(st, 0),
		    (uint64_t)sqlite3_column_int64(st, 1));
	if (no >= 0 && r != SQLITE_DONE)
		no = fail(db, e, "read", path);
	(void)sqlite3_finalize(st);
	return no;
}

int store_parts(const char *path, store_part_fn *fn, void *user, int *ret_version, struct err *e)
{
	struct store *s = NULL;
	sqlite3 *db = NULL;
	int r = store_open(path, &s, e); /* it is a copy: migrated to the current schema first */

	if (r < 0)
		return r;
	*ret_version = store_version(s);
	store_close(s);
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
	    sqlite3_exec(db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL) != SQLITE_OK)
		r = fail(db, e, "open", path);
	for (size_t i = 0; r >= 0 && i < sizeof parts / sizeof *parts; i++)
		r = each(db, path, i, fn, user, e);
	(void)sqlite3_close(db);
	return r;
}
