/* SPDX-License-Identifier: Apache-2.0 */
/* store/sandboxes: the table sandboxes. */
#include "store/sandboxes.h"

#include "base/str.h"
#include "store/db_stmt.h"

#define COLUMNS \
	"id, team, template_id, template_name, template_key, state, created_ms, started_us, end_ms, timeout_s, flags," \
	" mem_bytes, disk_bytes, cpu_permille, pids, envd_token, traffic_token, metadata, env_vars, network, " \
	"active_ms, kept_name, kept, volumes, key_id, sent_bytes, swap_bytes, io_bytes_s, io_ops_s, egress_bytes, " \
	"egress_bytes_s, open_files, build, parent"

static const char add_sql[] = "INSERT INTO sandboxes(" COLUMNS
			      ") VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
static const char set_sql[] =
    "UPDATE sandboxes SET state=?, started_us=?, end_ms=?, flags=?, kept_name=?, kept=?, sent_bytes=?"
    " WHERE id=? AND state<>3";
static const char network_sql[] = "UPDATE sandboxes SET flags=?, network=? WHERE id=? AND state<>3";
static const char limits_sql[] =
    "UPDATE sandboxes SET mem_bytes=?, disk_bytes=?, cpu_permille=?, pids=?, swap_bytes=?, io_bytes_s=?,"
    " io_ops_s=?, egress_bytes=?, egress_bytes_s=? WHERE id=? AND state<>3";
static const char active_sql[] = "UPDATE sandboxes SET active_ms=? WHERE id=? AND state<>3";
static const char end_sql[] =
    "UPDATE sandboxes SET state=3, ended_ms=?, end_reason=?, envd_token=NULL, traffic_token=NULL,"
    " env_vars=NULL WHERE id=? AND state<>3";
static const char each_sql[] = "SELECT " COLUMNS " FROM sandboxes WHERE state<>3 ORDER BY created_ms, id";
static const char kept_sql[] = "SELECT 1 FROM sandboxes WHERE id=? AND state<>3 AND kept_name IS NOT NULL";
static const char ended_sql[] = "SELECT ended_ms, end_reason FROM sandboxes WHERE id=? AND team=? AND state=3";
static const char prune_sql[] = "DELETE FROM sandboxes WHERE rowid IN (SELECT rowid FROM sandboxes WHERE state=3 AND "
				"ended_ms<? ORDER BY rowid LIMIT " STMT_TEXT(STORE_BATCH) ")";

int sandboxes_add(struct store *s, const struct sandbox_row *r, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, add_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, r->id);
	stmt_text(st, 2, r->team);
	stmt_text(st, 3, r->template_id);
	stmt_text(st, 4, r->template_name);
	stmt_text(st, 5, r->template_key);
	stmt_u64(st, 6, r->state);
	stmt_u64(st, 7, r->created_ms);
	stmt_u64(st, 8, r->started_us);
	stmt_u64(st, 9, r->end_ms);
	stmt_u64(st, 10, r->timeout_s);
	stmt_u64(st, 11, r->flags);
	stmt_u64(st, 12, r->limits.mem_bytes);
	stmt_u64(st, 13, r->limits.disk_bytes);
	stmt_u64(st, 14, r->limits.cpu_permille);
	stmt_u64(st, 15, r->limits.pids);
	stmt_text(st, 16, r->envd_token);
	stmt_text(st, 17, r->traffic_token);
	stmt_text(st, 18, r->metadata);
	stmt_text(st, 19, r->env_vars);
	stmt_text(st, 20, r->network);
	stmt_u64(st, 21, r->active_ms);
	stmt_text(st, 22, r->kept_name);
	stmt_u64(st, 23, r->kept);
	stmt_text(st, 24, r->volumes);
	stmt_text(st, 25, r->key);
	stmt_u64(st, 26, r->sent_bytes);
	stmt_u64(st, 27, r->limits.swap_bytes);
	stmt_u64(st, 28, r->limits.io_bytes_s);
	stmt_u64(st, 29, r->limits.io_ops_s);
	stmt_u64(st, 30, r->limits.egress_bytes);
	stmt_u64(st, 31, r->limits.egress_bytes_s);
	stmt_u64(st, 32, r->limits.open_files);
	stmt_text(st, 33, r->build);
	stmt_text(st, 34, r->parent);

	int n = stmt_run(s, st, e);

	return n < 0 ? n : 0;
}

/* A sandbox with a saved disk survives a power failure, so its changes must be durable, above all that it has
 * ended. */
static int is_kept(struct store *s, const char *id, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, kept_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, id);
	int r = stmt_next(s, st, e);

	if (r == 1)
		(void)sqlite3_reset(st);
	return r;
}

/* Runs a change of a sandbox that has not ended. */
static int run_on(struct store *s, sqlite3_stmt *st, bool durably, const char *id, struct err *e)
{
	int n = durably ? stmt_run_durably(s, st, e) : stmt_run(s, st, e);

	return n < 0 ? n : n == 0 ? err_set(e, ENOENT, "no live sandbox '%s' in the state file", id) : 0;
}

int sandboxes_set(struct store *s, const struct sandbox_row *r, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, set_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, r->state);
	stmt_u64(st, 2, r->started_us);
	stmt_u64(st, 3, r->end_ms);
	stmt_u64(st, 4, r->flags);
	stmt_text(st, 5, r->kept_name);
	stmt_u64(st, 6, r->kept);
	stmt_u64(st, 7, r->sent_bytes);
	stmt_text(st, 8, r->id);
	/* A paused sandbox that survives a reboot is on disk before the client relies on it. */
	return run_on(s, st, r->state == ROW_PAUSED && r->kept_name, r->id, e);
}

int sandboxes_set_network(struct store *s, const char *id, uint32_t flags, const char *network, struct err *e)
{
	sqlite3_stmt *st;
	int kept = is_kept(s, id, e);

	if (kept < 0 || stmt_get(s, network_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, flags);
	stmt_text(st, 2, network);
	stmt_text(st, 3, id);
	return run_on(s, st, kept, id, e);
}

int sandboxes_set_limits(struct store *s, const char *id, const struct row_limits *l, struct err *e)
{
	sqlite3_stmt *st;
	int kept = is_kept(s, id, e);

	if (kept < 0 || stmt_get(s, limits_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, l->mem_bytes);
	stmt_u64(st, 2, l->disk_bytes);
	stmt_u64(st, 3, l->cpu_permille);
	stmt_u64(st, 4, l->pids);
	stmt_u64(st, 5, l->swap_bytes);
	stmt_u64(st, 6, l->io_bytes_s);
	stmt_u64(st, 7, l->io_ops_s);
	stmt_u64(st, 8, l->egress_bytes);
	stmt_u64(st, 9, l->egress_bytes_s);
	stmt_text(st, 10, id);
	return run_on(s, st, kept, id, e);
}

int sandboxes_set_active(struct store *s, const char *id, uint64_t active_ms, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, active_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, active_ms);
	stmt_text(st, 2, id);

	int n = stmt_run(s, st, e);

	return n < 0 ? n : 0;
}

int sandboxes_end(struct store *s, const char *id, uint64_t ended_ms, const char *reason, struct err *e)
{
	sqlite3_stmt *st;
	int kept = is_kept(s, id, e);

	if (kept < 0 || stmt_get(s, end_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, ended_ms);
	stmt_text(st, 2, reason);
	stmt_text(st, 3, id);
	return run_on(s, st, kept, id, e);
}

static void row_read(sqlite3_stmt *st, struct sandbox_row *r)
{
	*r = (struct sandbox_row) {
		.id = stmt_col_text(st, 0),
		.team = stmt_col_text(st, 1),
		.template_id = stmt_col_text(st, 2),
		.template_name = stmt_col_text(st, 3),
		.template_key = stmt_col_text(st, 4),
		.state = (enum row_state)stmt_col_u64(st, 5),
		.created_ms = stmt_col_u64(st, 6),
		.started_us = stmt_col_u64(st, 7),
		.end_ms = stmt_col_u64(st, 8),
		.timeout_s = (uint32_t)stmt_col_u64(st, 9),
		.flags = (uint32_t)stmt_col_u64(st, 10),
		.limits = {
			.mem_bytes = stmt_col_u64(st, 11),
			.disk_bytes = stmt_col_u64(st, 12),
			.cpu_permille = (uint32_t)stmt_col_u64(st, 13),
			.pids = (uint32_t)stmt_col_u64(st, 14),
			.swap_bytes = stmt_col_u64(st, 26),
			.io_bytes_s = stmt_col_u64(st, 27),
			.io_ops_s = (uint32_t)stmt_col_u64(st, 28),
			.egress_bytes = stmt_col_u64(st, 29),
			.egress_bytes_s = stmt_col_u64(st, 30),
			.open_files = (uint32_t)stmt_col_u64(st, 31),
		},
		.envd_token = stmt_col_text(st, 15),
		.traffic_token = stmt_col_text(st, 16),
		.metadata = stmt_col_text(st, 17),
		.env_vars = stmt_col_text(st, 18),
		.network = stmt_col_text(st, 19),
		.active_ms = stmt_col_u64(st, 20),
		.kept_name = stmt_col_text(st, 21),
		.kept = (uint32_t)stmt_col_u64(st, 22),
		.volumes = stmt_col_text(st, 23),
		.key = stmt_col_text(st, 24),
		.sent_bytes = stmt_col_u64(st, 25),
		.build = stmt_col_text(st, 32),
		.parent = stmt_col_text(st, 33),
	};
}

int sandboxes_each(struct store *s, int (*fn)(void *user, const struct sandbox_row *r), void *user, struct err *e)
{
	sqlite3_stmt *st;
	int r;

	if (stmt_get(s, each_sql, &st, e) < 0)
		return -e->no;
	while ((r = stmt_next(s, st, e)) == 1) {
		struct sandbox_row row;

		row_read(st, &row);
		r = fn(user, &row);
		if (r < 0) {
			(void)sqlite3_reset(st);
			return r;
		}
	}
	return r;
}

int sandboxes_ended(struct store *s, const char *id, const char *team, uint64_t *ret_ms,
    char ret_reason[END_REASON_SIZE], struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, ended_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, id);
	stmt_text(st, 2, team);
	int r = stmt_next(s, st, e);

	if (r <= 0)
		return r < 0 ? r : err_set(e, ENOENT, "no ended sandbox '%s'", id);
	const char *reason = stmt_col_text(st, 1);

	*ret_ms = stmt_col_u64(st, 0);
	ret_reason[0] = '\0';
	if (reason)
		(void)str_copy(ret_reason, END_REASON_SIZE, str_of(reason));
	(void)sqlite3_reset(st);
	return 0;
}

int sandboxes_prune(struct store *s, uint64_t ended_before_ms, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, prune_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, ended_before_ms);
	return stmt_run(s, st, e);
}
