/* SPDX-License-Identifier: Apache-2.0 */
/* store/events: the table events. */
#include "store/events.h"

#include "store/db_stmt.h"

#define COLUMNS "seq, id, team, sandbox, type, at_ms, execution, template, build, data"
#define WHICH \
	" FROM events WHERE team=?1 AND sandbox<>'' AND (?2 IS NULL OR sandbox=?2) AND (?3 IS NULL OR instr(?3, " \
	"','||type||',')>0) ORDER BY seq "

static const char add_sql[] =
    "INSERT INTO events(id, team, sandbox, type, at_ms, execution, template, build, data) VALUES(?,?,?,?,?,?,?,?,?)";
static const char up_sql[] = "SELECT " COLUMNS WHICH "LIMIT ?5 OFFSET ?4";
static const char down_sql[] = "SELECT " COLUMNS WHICH "DESC LIMIT ?5 OFFSET ?4";
static const char prune_sql[] =
    "DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE at_ms<? AND NOT EXISTS "
    "(SELECT 1 FROM deliveries d WHERE d.event=events.seq AND d.state=0) ORDER BY at_ms LIMIT " STMT_TEXT(
	STORE_BATCH) ")";

int events_add(struct store *s, const struct event_row *row, uint64_t *ret_seq, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, add_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, row->id);
	stmt_text(st, 2, row->team);
	stmt_text(st, 3, row->sandbox);
	stmt_text(st, 4, row->type);
	stmt_u64(st, 5, row->at_ms);
	stmt_text(st, 6, row->execution);
	stmt_text(st, 7, row->template);
	stmt_text(st, 8, row->build);
	stmt_text(st, 9, row->data);
	if (stmt_run(s, st, e) < 0)
		return -e->no;
	*ret_seq = (uint64_t)sqlite3_last_insert_rowid(sqlite3_db_handle(st));
	return 0;
}

int events_each(struct store *s, const struct event_query *q, void (*fn)(void *user, const struct event_row *row),
    void *user, struct err *e)
{
	sqlite3_stmt *st;
	int r;

	if (stmt_get(s, q->ascending ? up_sql : down_sql, &st, e) < 0)
		return -e->no;
	stmt_text(st, 1, q->team);
	stmt_text(st, 2, q->sandbox);
	stmt_text(st, 3, q->types);
	stmt_u64(st, 4, q->offset);
	stmt_u64(st, 5, q->limit);
	while ((r = stmt_next(s, st, e)) == 1) {
		struct event_row row = {
			.seq = stmt_col_u64(st, 0),
			.id = stmt_col_text(st, 1),
			.team = stmt_col_text(st, 2),
			.sandbox = stmt_col_text(st, 3),
			.type = stmt_col_text(st, 4),
			.at_ms = stmt_col_u64(st, 5),
			.execution = stmt_col_text(st, 6),
			.template = stmt_col_text(st, 7),
			.build = stmt_col_text(st, 8),
			.data = stmt_col_text(st, 9),
		};

		fn(user, &row);
	}
	return r;
}

int events_prune(struct store *s, uint64_t before_ms, struct err *e)
{
	sqlite3_stmt *st;

	if (stmt_get(s, prune_sql, &st, e) < 0)
		return -e->no;
	stmt_u64(st, 1, before_ms);
	return stmt_run(s, st, e);
}
