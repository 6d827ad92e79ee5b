/* SPDX-License-Identifier: Apache-2.0 */
/* store/webhooks: the tables webhooks and deliveries. */
#include "store/webhooks.h"

#include <errno.h>

#include "store/db_stmt.h"

static const char add_sql[] =
    "INSERT INTO webhooks(id, team, name, url, events, enabled, sealed, created_ms) VALUES(?1,?2,?3,?4,?5,?6,?7,?8)";
static const char set_sql[] =
    "UPDATE webhooks SET name=?3, url=?4, events=?5, enabled=?6, sealed=?7 WHERE id=?1 AND team=?2";
static const char drop_sql[] = "DELETE FROM webhooks WHERE id=?";
static const char each_sql[] =
    "SELECT id, team, name, url, events, enabled, sealed, created_ms FROM webhooks ORDER BY created_ms, id";

static const char queue_sql[] =
    "INSERT INTO deliveries(id, webhook, event, state, attempts, created_ms, last_ms, outcome, status, took_ms, error)"
    " VALUES(?,?,?,0,0,?,0,0,0,0,'')";
static const char note_sql[] =
    "UPDATE deliveries SET state=?2, attempts=?3, last_ms=?4, outcome=?5, status=?6, took_ms=?7, error=?8 WHERE seq=?1";
#define DELIVERIES \
	"SELECT d.seq, d.id, d.webhook, d.state, d.attempts, d.created_ms, d.last_ms, d.outcome, d.status, " \
	"d.took_ms, d.error," \
	" e.seq, e.id, e.team, e.sandbox, e.type, e.at_ms, e.execution, e.template, e.build, e.data" \
	" FROM deliveries d LEFT JOIN events e ON e.seq=d.event WHERE d.webhook=?1 "
static const char next_sql[] = DELIVERIES "AND d.state=0 ORDER BY d.seq LIMIT 1";
static const char told_sql[] = DELIVERIES "ORDER BY d.seq DESC LIMIT ?2";
static const char count_sql[] = "SELECT count(*) FROM deliveries WHERE webhook=? AND state=0";
static const char prune_sql[] = "DELETE FROM deliveries WHERE seq IN (SELECT seq FROM deliveries WHERE created_ms<? "
				"AND state<>0 ORDER BY created_ms LIMIT " STMT_TEXT(STORE_BATCH) ")";

static int put(struct store *s, const char *sql, const struct webhook_row *row, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, row->id);
	stmt_text(st, 2, row->team);
	stmt_text(st, 3, row->name);
	stmt_text(st, 4, row->url);
	stmt_text(st, 5, row->events);
	stmt_u64(st, 6, row->enabled);
	stmt_blob(st, 7, row->sealed, row->n_sealed);
	if (sql == add_sql)
		stmt_u64(st, 8, row->created_ms);
	return stmt_run_durably(s, st, e);
}

int webhooks_add(struct store *s, const struct webhook_row *row, struct err *e)
{
	return put(s, add_sql, row, e);
}

int webhooks_set(struct store *s, const struct webhook_row *row, struct err *e)
{
	int n = put(s, set_sql, row, e);

	return n == 0 ? err_set(e, ENOENT, "no webhook '%s'", row->id) : n;
}

int webhooks_drop(struct store *s, const char *id, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, drop_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, id);
	return stmt_run_durably(s, st, e);
}

int webhooks_each(struct store *s, void (*fn)(void *user, const struct webhook_row *row), void *user, struct err *e)
{
	sqlite3_stmt *st;
	int r;

	if (stmt_get(s, each_sql, &st, e) < 0)
		return -e->no;
	while ((r = stmt_next(s, st, e)) == 1) {
		struct webhook_row row = {
			.id = stmt_col_text(st, 0),
			.team = stmt_col_text(st, 1),
			.name = stmt_col_text(st, 2),
			.url = stmt_col_text(st, 3),
			.events = stmt_col_text(st, 4),
			.enabled = stmt_col_u64(st, 5),
			.sealed = sqlite3_column_blob(st, 6),
			.n_sealed = (size_t)sqlite3_column_bytes(st, 6),
			.created_ms = stmt_col_u64(st, 7),
		};

		fn(user, &row);
	}
	return r;
}

/* --- deliveries --- */

int deliveries_add(struct store *s, const char *id, const char *webhook, uint64_t event_seq, uint64_t now_ms,
    struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, queue_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, id);
	stmt_text(st, 2, webhook);
	stmt_u64(st, 3, event_seq);
	stmt_u64(st, 4, now_ms);
	return stmt_run(s, st, e);
}

static void tell(sqlite3_stmt *st, void (*fn)(void *user, const struct delivery_row *row), void *user)
{
	struct delivery_row row = {
		.seq = stmt_col_u64(st, 0),
		.id = stmt_col_text(st, 1),
		.webhook = stmt_col_text(st, 2),
		.state = (enum delivery_state)stmt_col_u64(st, 3),
		.attempts = (uint32_t)stmt_col_u64(st, 4),
		.created_ms = stmt_col_u64(st, 5),
		.last_ms = stmt_col_u64(st, 6),
		.outcome = (uint32_t)stmt_col_u64(st, 7),
		.status = (uint32_t)stmt_col_u64(st, 8),
		.took_ms = (uint32_t)stmt_col_u64(st, 9),
		.error = stmt_col_text(st, 10),
		.event = { .seq = stmt_col_u64(st, 11),
		    .id = stmt_col_text(st, 12),
		    .team = stmt_col_text(st, 13),
		    .sandbox = stmt_col_text(st, 14),
		    .type = stmt_col_text(st, 15),
		    .at_ms = stmt_col_u64(st, 16),
		    .execution = stmt_col_text(st, 17),
		    .template = stmt_col_text(st, 18),
		    .build = stmt_col_text(st, 19),
		    .data = stmt_col_text(st, 20) },
	};

	fn(user, &row);
}

int deliveries_next(struct store *s, const char *webhook, void (*fn)(void *user, const struct delivery_row *row),
    void *user, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, next_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, webhook);
	int r = stmt_next(s, st, e);

	if (r == 1) {
		tell(st, fn, user);
		(void)sqlite3_reset(st);
	}
	return r;
}

int deliveries_set(struct store *s, const struct delivery_row *row, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, note_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, row->seq);
	stmt_u64(st, 2, row->state);
	stmt_u64(st, 3, row->attempts);
	stmt_u64(st, 4, row->last_ms);
	stmt_u64(st, 5, row->outcome);
	stmt_u64(st, 6, row->status);
	stmt_u64(st, 7, row->took_ms);
	stmt_text(st, 8, row->error ? row->error : "");
	return stmt_run(s, st, e);
}

int deliveries_each(struct store *s, const char *webhook, uint64_t limit,
    void (*fn)(void *user, const struct delivery_row *row), void *user, struct err *e)
{
	sqlite3_stmt *st;
	int r;

	if (stmt_get(s, told_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, webhook);
	stmt_u64(st, 2, limit);
	while ((r = stmt_next(s, st, e)) == 1)
		tell(st, fn, user);
	return r;
}

int deliveries_waiting(struct store *s, const char *webhook, uint64_t *ret, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, count_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, webhook);
	int r = stmt_next(s, st, e);

	if (r == 1) {
		*ret = stmt_col_u64(st, 0);
		(void)sqlite3_reset(st);
	}
	return r < 0 ? r : 0;
}

int deliveries_prune(struct store *s, uint64_t before_ms, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, prune_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, before_ms);
	return stmt_run(s, st, e);
}
