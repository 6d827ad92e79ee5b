/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/logs: reading the log of a sandbox. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "front/api/api.h"
#include "front/api/handlers.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/record/log_query.h"
#include "front/record/logbook.h"
#include "front/record/records.h"
#include "front/sandbox/init_watch.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/table.h"
#include "front/util/mem.h"
#include "front/util/time_json.h"
#include "http/json.h"
#include "http/server.h"

static const char *const level_name[] = { "debug", "info", "warn", "error" };

static json_t *entry_json(const struct journal_entry *en)
{
	json_t *fields = json_pack("{s:s}", "type", journal_kind_name(en->kind));

	for (size_t i = 0; i < en->n_fields; i++) {
		char name[JOURNAL_TEXT_MAX + 1];

		if (str_is(en->fields[i].name, LOG_MARK))
			continue;
		(void)str_copy(name, sizeof name, en->fields[i].name);
		(void)json_object_set_new(fields, name, json_stringn(en->fields[i].value.p, en->fields[i].value.n));
	}

	json_t *message = json_stringn(en->message.p, en->message.n);

	/* NULL: not UTF-8, from a path or a command */
	return json_pack("{s:o,s:o,s:s,s:o}", "timestamp", time_json(en->at_ms), "message",
	    message ? message : json_string("(not text)"), "level", level_name[en->level], "fields", fields);
}

/* Version 1: a line that is JSON itself, with the fields at its top level. */
static json_t *line_json(json_t *entry)
{
	autobuf struct buf text = BUF_INIT(16 * 1024);
	autojson json_t *flat = json_copy(json_object_get(entry, "fields"));

	(void)json_object_set_new(flat, "logger", json_string("atoll"));
	(void)json_object_set(flat, "level", json_object_get(entry, "level"));
	(void)json_object_set(flat, "message", json_object_get(entry, "message"));
	json_put(&text, flat);
	return json_pack("{s:O,s:s}", "timestamp", json_object_get(entry, "timestamp"), "line", buf_cstr(&text));
}

struct asked { /* while events from init are awaited */
	struct log_query q;
	struct str id;
	bool v1;
};

/* A sandbox without log entries: the previous front was killed just after the start. */
static bool is_there(const struct req *r, struct str id)
{
	const struct sandbox *sb = sandbox_table_find(r->api->sandbox->table, id);

	return sb && sb->state != SANDBOX_STARTING && strcmp(sb->team, r->caller.team) == 0;
}

static void answer(struct req *r)
{
	const struct asked *a = r->work;
	struct journal j = { 0 };
	struct err e;
	int got = logbook_read(r->api->record->logbook, a->id, r->caller.team, &j, &e);

	if (got == -ENOENT && !is_there(r, a->id)) {
		reply_no_sandbox(r, a->id);
		return;
	}
	if (got < 0 && got != -ENOENT) {
		reply_err(r, &e);
		return;
	}

	autojson json_t *entries = log_query_run(&a->q, &j, entry_json);

	journal_done(&j);
	if (!a->v1) {
		reply_json(r, 200, json_pack("{s:O}", "logs", entries), NULL);
		return;
	}

	json_t *lines = json_array(), *en;
	size_t i;

	json_array_foreach(entries, i, en)(void) json_array_append_new(lines, line_json(en));
	reply_json(r, 200, json_pack("{s:o,s:O}", "logs", lines, "logEntries", entries), NULL);
}

static void on_synced(void *user)
{
	struct req *r = user;

	answer(r);
	req_unref(r);
}

static void logs(struct req *r, bool v1)
{
	struct asked *a = r->work = must_alloc(sizeof *a);
	struct err e;

	a->v1 = v1;
	if (req_sandbox_id(r, &a->id) < 0)
		return;
	a->id = str_of(r->sandbox); /* valid as long as the request */
	if ((v1 ? log_query_parse_v1 : log_query_parse_v2)(r->http->query, &a->q, &e) < 0) {
		reply_err(r, &e);
		return;
	}

	struct sandbox *sb = sandbox_table_find(r->api->sandbox->table, a->id);

	if (sb && strcmp(sb->team, r->caller.team) == 0)
		init_watch_sync(sb, on_synced, req_ref(r)); /* returns at once if it does not run */
	else
		answer(r);
}

void api_logs_v1(struct req *r)
{
	logs(r, true);
}

void api_logs_v2(struct req *r)
{
	logs(r, false);
}
