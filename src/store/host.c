/* SPDX-License-Identifier: Apache-2.0 */
/* store/host: the table host. */
#include "store/host.h"

#include "base/str.h"
#include "store/db_stmt.h"

static const char get_sql[] = "SELECT boot_id FROM host";
static const char set_sql[] =
    "INSERT INTO host(one, boot_id) VALUES(1,?) ON CONFLICT DO UPDATE SET boot_id=excluded.boot_id";

int host_boot_id(struct store *s, char ret[BOOT_ID_SIZE], struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, get_sql, &st, e) < 0)
		return -e->no;
	int r = stmt_next(s, st, e);

	if (r < 0)
		return r;
	if (!str_copy(ret, BOOT_ID_SIZE, str_of(r == 1 ? stmt_col_text(st, 0) : "")))
		r = err_set(e, EIO, "state file: a boot id is too long");
	(void)sqlite3_reset(st);
	return r < 0 ? r : 0;
}

int host_set_boot_id(struct store *s, const char *id, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, set_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, id);
	int n = stmt_run(s, st, e);

	return n < 0 ? n : 0;
}
