/* SPDX-License-Identifier: Apache-2.0 */
/* store/keys: the tables teams and keys. */
#include "store/keys.h"

#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "store/db_stmt.h"

static const char team_find[] = "SELECT id FROM teams WHERE is_default=1";
static const char team_add[] = "INSERT INTO teams(id, name, is_default, created_ms) VALUES(?, 'default', 1, ?)";
static const char key_drop[] = "DELETE FROM keys WHERE team=? AND name=?";
static const char key_add[] = "INSERT OR REPLACE INTO keys(hash, team, name, created_ms) VALUES(?, ?, ?, ?)";
static const char key_all[] = "SELECT k.hash, k.team, t.name, k.name FROM keys k JOIN teams t ON t.id=k.team"
	" ORDER BY k.created_ms, k.name";

int teams_default(struct store *s, const char *id_if_new, char ret_id[TEAM_ID_SIZE], struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, team_find, &st, e) < 0)
		return -e->no;

	int r = stmt_next(s, st, e);

	if (r < 0)
		return r;
	if (r == 1) {
		bool fits = str_copy(ret_id, TEAM_ID_SIZE, str_of(stmt_col_text(st, 0)));

		(void)sqlite3_reset(st);
		return fits ? 0 : err_set(e, EOVERFLOW, "id of the default team is too long");
	}
	if (!str_copy(ret_id, TEAM_ID_SIZE, str_of(id_if_new)))
		return err_set(e, EINVAL, "id '%s' is too long", id_if_new);
	if (stmt_get(s, team_add, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, id_if_new);
	stmt_u64(st, 2, clock_wall_ms());
	r = stmt_run(s, st, e);
	return r < 0 ? r : 0;
}

int keys_put(struct store *s, const char *team, const char *name, const uint8_t hash[KEY_HASH_SIZE], struct err *e)
{
	sqlite3_stmt *st;
	int r;

	if (stmt_get(s, key_drop, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, team);
	stmt_text(st, 2, name);
	r = stmt_run(s, st, e);
	if (r < 0)
		return r;
	if (stmt_get(s, key_add, &st, e) < 0)
		return -e->no;
	stmt_blob(st, 1, hash, KEY_HASH_SIZE);
	stmt_text(st, 2, team);
	stmt_text(st, 3, name);
	stmt_u64(st, 4, clock_wall_ms());
	r = stmt_run(s, st, e);
	return r < 0 ? r : 0;
}

int keys_each(struct store *s, int (*fn)(void *user, const struct key_row *k), void *user, struct err *e)
{
	sqlite3_stmt *st;
	int r;

	if (stmt_get(s, key_all, &st, e) < 0)
		return -e->no;
	while ((r = stmt_next(s, st, e)) == 1) {
		struct key_row k = { .team = stmt_col_text(st, 1), .team_name = stmt_col_text(st, 2), .name = stmt_col_text(st, 3) };

		if (sqlite3_column_bytes(st, 0) != KEY_HASH_SIZE)
			continue;	/* not written by us: no key can match it */
		memcpy(k.hash, sqlite3_column_blob(st, 0), KEY_HASH_SIZE);
		r = fn(user, &k);
		if (r < 0) {
			(void)sqlite3_reset(st);
			return r;
		}
	}
	return r;
}
