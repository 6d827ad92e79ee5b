/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/builds: starting, watching and cancelling builds of templates, and removing unused layers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/api/api.h"
#include "front/api/handlers.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/api/templates.h"
#include "front/link/links.h"
#include "front/sandbox/catalog.h"
#include "front/sandbox/spec.h"
#include "front/template/build.h"
#include "front/template/image_gc.h"
#include "front/util/mem.h"
#include "front/util/time_json.h"
#include "http/json.h"
#include "http/server.h"
#include "http/url.h"

#define LOGS_MAX 100
#define ALL_LOGS_MAX 1000
#define MIB (1024 * 1024ull)

static const char *const levels[] = { "debug", "info", "warn", "error" };

/* Finds the build in the path, of the caller's team. Otherwise sends an answer and returns -1. */
static int find_build(struct req *r, struct template_row *t, struct build_row *b)
{
	struct err e = ERR_INIT;

	if (!is_build_id(r->param2)) {
		reply_error(r, 400, "'%.60s' is not the id of a build, which is a UUID", r->param2);
		return -1;
	}
	int no = catalog_row(r->api->sandbox, r->caller.team, str_of(r->param), t, NULL, &e);

	if (no == 0 && strcmp(t->team, r->caller.team) != 0)
		no = err_set(&e, EPERM, "template '%.100s' belongs to another team", r->param);
	if (no == 0 && (builds_find(r->api->link->store, r->param2, b, &e) < 0 || strcmp(b->template_id, t->id) != 0))
		no = err_set(&e, ENOENT, "build '%.60s' of template '%.100s' not found", r->param2, r->param);
	if (no < 0)
		reply_err(r, &e);
	return no < 0 ? -1 : 0;
}

/* Records a build that could not begin as failed, for later queries. */
static void note_refusal(struct req *r, struct build_row *b, const struct err *e)
{
	struct build_log l = { .at_ms = clock_wall_ms(), .level = "error", .step = "base", .message = e->text };
	struct err ignored;

	(void)str_copy(b->status, sizeof b->status, STR_LIT("error"));
	(void)str_copy(b->step, sizeof b->step, STR_LIT("base"));
	(void)str_copy(b->reason, sizeof b->reason, str_of(e->text));
	b->finished_ms = clock_wall_ms();
	(void)builds_put(r->api->link->store, b, &ignored);
	(void)build_logs_add(r->api->link->store, b->id, &l, &ignored);
}

void api_build_start(struct req *r)
{
	autojson json_t *body = req_json(r, false);
	struct template_row t;
	struct build_row b;
	struct err e = ERR_INIT;

	if (!body || !templates_may_build(r) || find_build(r, &t, &b) < 0)
		return;
	if (strcmp(b.status, "waiting") != 0) {
		reply_error(r, 400, "build '%s' is not waiting to be started: it is '%s'", b.id, b.status);
		return;
	}
	if (build_begin(r->api->build, &b, t.name, body, &e) < 0) {
		if (e.no == EBUSY)
			note_refusal(r, &b, &e);
		if (e.no == EBUSY)
			reply_error(r, 409, "%s", e.text);
		else
			reply_err(r, &e);
		return;
	}
	log_info("build started", "build=%s template=%s request=%s", b.id, t.id, r->id);
	reply_empty(r, 202);
}

void api_build_start_v1(struct req *r)
{
	api_build_request_v1(r);
}

/* --- status and log
 * ------------------------------------------------------------------------------------------------ */

struct log_ask {
	uint64_t offset, limit;
	unsigned level;
};

static int number(struct str query, const char *name, uint64_t max, uint64_t *ret, struct err *e)
{
	autofree char *text = NULL;
	int r = query_get(query, name, &text);

	if (r == -ENOENT)
		return 0;
	if (r < 0 || str_to_u64(str_of(text), max, ret) < 0)
		return err_set(e, EINVAL, "query parameter '%s' must be an integer from 0 to %llu", name,
		    (unsigned long long)max);
	return 0;
}

static int read_level(struct str query, unsigned *ret, struct err *e)
{
	autofree char *text = NULL;
	int r = query_get(query, "level", &text);

	if (r == -ENOENT)
		return 0;
	for (unsigned i = 0; r == 0 && i < ARRAY_LEN(levels); i++) {
		if (strcmp(levels[i], text) == 0) {
			*ret = i;
			return 0;
		}
	}
	return err_set(e, EINVAL, "query parameter 'level' must be debug, info, warn or error");
}

static json_t *entry_json(const struct build_log *l)
{
	json_t *j = json_pack("{s:o,s:s,s:s}", "timestamp", time_json(l->at_ms), "message", l->message, "level",
	    l->level);

	if (*l->step)
		(void)json_object_set_new(j, "step", json_string(l->step));
	return j;
}

static int on_entry(void *user, const struct build_log *l)
{
	(void)json_array_append_new(user, entry_json(l));
	return 0;
}

static json_t *reason_json(const struct build_row *b)
{
	return json_pack("{s:s,s:s,s:[]}", "message", b->reason, "step", b->step, "logEntries");
}

void api_build_status(struct req *r)
{
	struct template_row t;
	struct build_row b;
	struct log_ask a = { .limit = LOGS_MAX };
	struct err e = ERR_INIT;

	if (find_build(r, &t, &b) < 0)
		return;
	if (number(r->http->query, "logsOffset", UINT32_MAX, &a.offset, &e) < 0 ||
	    number(r->http->query, "limit", LOGS_MAX, &a.limit, &e) < 0 ||
	    read_level(r->http->query, &a.level, &e) < 0) {
		reply_err(r, &e);
		return;
	}
	json_t *entries = json_array(), *lines = json_array(), *v;
	size_t i;

	(void)build_logs_each(r->api->link->store, b.id, a.offset, a.limit, a.level, on_entry, entries, &e);
	json_array_foreach(entries, i, v)(void) json_array_append(lines, json_object_get(v, "message"));
	json_t *j = json_pack("{s:s,s:s,s:s,s:o,s:o}", "templateID", t.id, "buildID", b.id, "status", b.status, "logs",
	    lines, "logEntries", entries);

	if (strcmp(b.status, "error") == 0)
		(void)json_object_set_new(j, "reason", reason_json(&b));
	reply_json(r, 200, j, NULL);
}

struct log_page {
	json_t *list;
	uint64_t from_ms, to_ms, limit;
	bool newest;
};

static int on_page_entry(void *user, const struct build_log *l)
{
	struct log_page *p = user;

	if (l->at_ms < p->from_ms || l->at_ms > p->to_ms)
		return 0;
	if (json_array_size(p->list) < p->limit)
		(void)json_array_append_new(p->list, entry_json(l));
	else if (p->newest && json_array_remove(p->list, 0) == 0)
		(void)json_array_append_new(p->list, entry_json(l));
	return 0;
}

void api_build_logs(struct req *r)
{
	struct template_row t;
	struct build_row b;
	struct log_page p = { .to_ms = UINT64_MAX, .limit = LOGS_MAX };
	autofree char *direction = NULL;
	uint64_t cursor = 0;
	unsigned level = 0;
	struct err e = ERR_INIT;

	if (find_build(r, &t, &b) < 0)
		return;
	if (number(r->http->query, "cursor", INT64_MAX, &cursor, &e) < 0 ||
	    number(r->http->query, "limit", ALL_LOGS_MAX, &p.limit, &e) < 0 ||
	    read_level(r->http->query, &level, &e) < 0) {
		reply_err(r, &e);
		return;
	}
	if (query_get(r->http->query, "direction", &direction) == 0 && strcmp(direction, "forward") != 0 &&
	    strcmp(direction, "backward") != 0) {
		reply_error(r, 400, "query parameter 'direction' must be forward or backward");
		return;
	}
	p.newest = direction && strcmp(direction, "backward") == 0;
	if (cursor)
		*(p.newest ? &p.to_ms : &p.from_ms) = cursor;
	p.list = json_array();
	(void)build_logs_each(r->api->link->store, b.id, 0, UINT32_MAX, level, on_page_entry, &p, &e);
	reply_json(r, 200, json_pack("{s:o}", "logs", p.list), NULL);
}

/* --- cancelling
 * ---------------------------------------------------------------------------------------------------- */

void api_build_cancel(struct req *r)
{
	struct template_row t;
	struct build_row b;

	if (find_build(r, &t, &b) < 0)
		return;
	struct build *running = build_of(r->api->build, b.id);

	if (running) {
		log_info("build cancelled", "build=%s request=%s", b.id, r->id);
		build_cancel(running, "the build was called off");
	}
	reply_empty(r, 204);
}

static void on_collected(void *user, unsigned removed, const struct err *e)
{
	struct req *r = user;
	const struct gc_result *gone = r->work;

	if (e)
		reply_err(r, e);
	else
		reply_json(r, 200,
		    json_pack("{s:i,s:i,s:i}", "layers", (int)gone->layers, "uploads", (int)gone->uploads, "images",
			(int)removed),
		    NULL);
	req_unref(r);
}

void admin_template_gc(struct req *r)
{
	autojson json_t *body = req_json(r, true);
	int64_t mb = 0;
	bool given = false;
	struct gc_result *gone = r->work = must_alloc(sizeof *gone);
	struct err e = ERR_INIT;

	if (!body)
		return;
	if (field_int(body, "maxMB", 0, INT32_MAX, &mb, &given, &e) < 0 ||
	    builds_gc(r->api->build, given ? (uint64_t)mb * MIB : r->api->link->opt.template_cache_mb * MIB, gone, &e) <
		0) {
		reply_err(r, &e);
		return;
	}
	image_gc(r->api->build, true, on_collected, req_ref(r));
}
