/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/admin: teams, and settings of the whole server. */
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/account/accounts.h"
#include "front/account/keyring.h"
#include "front/account/metrics.h"
#include "front/api/api.h"
#include "front/api/handlers.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/api/team.h"
#include "front/link/links.h"
#include "front/link/warden_link.h"
#include "front/record/records.h"
#include "front/record/webhooks.h"
#include "front/sandbox/end.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/spec.h"
#include "front/sandbox/table.h"
#include "front/util/mem.h"
#include "front/util/time_json.h"
#include "http/json.h"

#define SANDBOXES_LIMIT 1000000
#define RATE_LIMIT 1000000

static json_t *limit_json(int64_t v)
{
	return v == LIMIT_DEFAULT ? json_null() : json_integer(v);
}

static json_t *team_json(const struct api *a, struct team *t)
{
	return json_pack("{s:s,s:s,s:b,s:b,s:o,s:o,s:o,s:I,s:I,s:o,s:o}", "teamID", t->id, "name", t->name, "isDefault",
	    t->is_default, "blocked", t->blocked, "createdAt", time_json(t->created_ms), "maxSandboxes",
	    limit_json(t->max_sandboxes), "rateLimit", limit_json(t->rate_limit), "runningSandboxes",
	    (json_int_t)team_sandboxes(a, t->id), "keys", (json_int_t)t->n_keys, "quota", quota_json(&t->quota, false),
	    "usage", tally_json(&t->tally, clock_wall_ms()));
}

/* --- teams --- */

static int check_name(const char *name, struct err *e)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");

	if (n == 0 || name[n] || n >= TEAM_NAME_SIZE)
		return err_set(e, EINVAL, "field 'name' must have 1 to %d characters of a-z, 0-9, '-' and '_'",
		    TEAM_NAME_SIZE - 1);
	return 0;
}

/* A limit may be null, which means the default of the server; absent means unchanged. */
static int read_limit(const json_t *body, const char *field, int64_t max, int64_t *ret, struct err *e)
{
	const json_t *v = json_object_get(body, field);
	bool given;

	if (json_is_null(v)) {
		*ret = LIMIT_DEFAULT;
		return 0;
	}
	return field_int(body, field, 0, max, ret, &given, e);
}

/* Applies the body to *row. The name points into the body. */
static int read_team(const json_t *body, struct team_row *row, struct err *e)
{
	if (json_get_str(body, "name", &row->name, e) < 0 || json_get_bool(body, "blocked", &row->blocked, e) < 0 ||
	    read_limit(body, "maxSandboxes", SANDBOXES_LIMIT, &row->max_sandboxes, e) < 0 ||
	    read_limit(body, "rateLimit", RATE_LIMIT, &row->rate_limit, e) < 0)
		return -e->no;
	if (!row->name)
		return err_set(e, EINVAL, "field 'name' is missing");
	return check_name(row->name, e);
}

void admin_teams(struct req *r)
{
	struct keyring *k = r->api->account->keyring;
	json_t *list = json_array();

	for (struct team *t = keyring_next_team(k, NULL); t; t = keyring_next_team(k, t))
		(void)json_array_append_new(list, team_json(r->api, t));
	reply_json(r, 200, list, NULL);
}

void admin_team(struct req *r)
{
	struct team *t = req_team(r);

	if (t)
		reply_json(r, 200, team_json(r->api, t), NULL);
}

void admin_team_add(struct req *r)
{
	autojson json_t *body = req_json(r, false);
	struct team_row row = { .max_sandboxes = LIMIT_DEFAULT, .rate_limit = LIMIT_DEFAULT };
	struct quota q = { 0 };
	struct team *t;
	struct err e;

	if (!body)
		return;
	if (read_team(body, &row, &e) < 0 || read_quota(r->api, body, false, &q, &e) < 0 ||
	    keyring_add_team(r->api->account->keyring, row.name, row.max_sandboxes, row.rate_limit, &t, &e) < 0) {
		reply_err(r, &e);
		return;
	}
	if (!quota_is_none(&q) && quota_set(r->api->account, false, t->id, &t->quota, &q, &e) < 0) {
		reply_err(r, &e);
		return;
	}
	log_info("team created", "request=%s team=%s name=%s", r->id, t->id, t->name);
	reply_json(r, 201, team_json(r->api, t), NULL);
}

void admin_team_set(struct req *r)
{
	struct team *t = req_team(r);
	autojson json_t *body = t ? req_json(r, true) : NULL;
	struct err e;

	if (!body)
		return;

	struct team_row row = {
		.name = t->name,
		.blocked = t->blocked,
		.max_sandboxes = t->max_sandboxes,
		.rate_limit = t->rate_limit,
	};

	struct quota q = t->quota;

	if (read_team(body, &row, &e) < 0 || read_quota(r->api, body, false, &q, &e) < 0) {
		reply_err(r, &e);
	} else if (row.blocked && t->is_default) {
		reply_error(r, 409, "the default team cannot be blocked");
	} else if (keyring_set_team(r->api->account->keyring, t, &row, &e) < 0 ||
	    (json_object_get(body, "quota") && quota_set(r->api->account, false, t->id, &t->quota, &q, &e) < 0)) {
		reply_err(r, &e);
	} else {
		log_info("team changed", "request=%s team=%s blocked=%d max_sandboxes=%lld rate_limit=%lld", r->id,
		    t->id, t->blocked, (long long)t->max_sandboxes, (long long)t->rate_limit);
		reply_json(r, 200, team_json(r->api, t), NULL);
	}
}

void admin_team_drop(struct req *r)
{
	struct team *t = req_team(r);
	struct err e;

	if (!t)
		return;
	if (t->is_default) {
		reply_error(r, 409, "the default team cannot be deleted");
	} else if (team_sandboxes(r->api, t->id) > 0) {
		reply_error(r, 409, "team '%s' still has sandboxes", t->name);
	} else {
		log_info("team deleted", "request=%s team=%s name=%s", r->id, t->id, t->name);
		char id[TEAM_ID_SIZE];

		memcpy(id, t->id, sizeof id);
		if (keyring_drop_team(r->api->account->keyring, t, &e) < 0) {
			reply_err(r, &e);
		} else {
			webhooks_forget(r->api->record->webhooks, id);
			reply_empty(r, 204);
		}
	}
}

/* --- sandboxes --- */

struct massacre {
	unsigned left, failed, killed;
};

static void reply_killed(struct req *r, const struct massacre *m)
{
	json_t *j = json_pack("{s:i,s:i}", "killedCount", (int)m->killed, "failedCount", (int)m->failed);

	reply_json(r, 200, j, NULL);
}

/* Each of the sandboxes holds a reference to the request; the last one sends the answer. */
static void one_killed(struct req *r, struct sandbox *sb)
{
	struct massacre *m = r->work;

	if (sb->fail.no)
		m->failed++;
	else
		m->killed++;
	if (--m->left == 0)
		reply_killed(r, m);
}

void admin_kill(struct req *r)
{
	const struct team *t = req_team(r);
	struct sandbox *sb, *next;

	if (!t)
		return;

	struct massacre *m = r->work = must_alloc(sizeof *m);

	m->left = 1; /* one for the caller, so that the answer is not sent before all are asked */
	for (sb = sandbox_table_next(r->api->sandbox->table, NULL); sb; sb = next) {
		next = sandbox_table_next(r->api->sandbox->table, sb);
		if (strcmp(sb->team, t->id) != 0 || sb->state == SANDBOX_STARTING)
			continue;
		m->left++;
		sb->fail = ERR_INIT;
		sandbox_by(sb, r->id);
		sandbox_ref(sb);
		sandbox_kill(sb, END_KILLED, "killed by an admin");
		req_wait(r, sb, one_killed);
		sandbox_unref(sb);
	}
	if (--m->left == 0)
		reply_killed(r, m);
}

void admin_running(struct req *r)
{
	const struct sandbox_table *t = r->api->sandbox->table;
	json_t *counts = json_object();

	for (const struct sandbox *sb = sandbox_table_next(t, NULL); sb; sb = sandbox_table_next(t, sb)) {
		const json_t *had = json_object_get(counts, sb->team);

		if (sb->state == SANDBOX_RUNNING)
			(void)json_object_set_new(counts, sb->team, json_integer(json_integer_value(had) + 1));
	}
	reply_json(r, 200, counts, NULL);
}

/* --- log level --- */

static const char *const level_name[] = { "debug", "info", "warn", "error" };

static void reply_level(struct req *r)
{
	reply_json(r, 200, json_pack("{s:s}", "level", level_name[log_get_level()]), NULL);
}

void admin_log_level(struct req *r)
{
	reply_level(r);
}

static void on_level(void *user, const struct warden_reply *re)
{
	struct req *r = user;

	if (re->no)
		reply_error(r, 500, "the front took it, the warden did not: %s", re->text);
	else
		reply_level(r);
	req_unref(r);
}

void admin_log_level_set(struct req *r)
{
	autojson json_t *body = req_json(r, false);
	struct msg_level m = { 0 };
	const char *name = NULL;
	enum log_level level;
	struct err e;

	if (!body)
		return;
	if (json_need_str(body, "level", &name, &e) < 0) {
		reply_err(r, &e);
		return;
	}
	if (log_level_parse(name, &level) < 0) {
		reply_error(r, 400, "field 'level' must be debug, info, warn or error");
		return;
	}
	log_set_level(level);
	log_info("log level set", "request=%s level=%s", r->id, name);
	m.level = level;
	(void)warden_ask(r->api->link->warden, OP_LOG_LEVEL, &m, sizeof m, on_level, req_ref(r));
}

/* --- this server as a node --- */

static json_t *node_metrics(const struct api *a)
{
	const struct sandbox_table *t = a->sandbox->table;
	uint64_t cpus = 0, mem = 0, used = 0;

	for (const struct sandbox *sb = sandbox_table_next(t, NULL); sb; sb = sandbox_table_next(t, sb)) {
		const struct usage_sample *s = usage_get(&sb->usage, sb->usage.n - 1);

		cpus += (sb->spec.limits.cpu_permille + 999) / 1000;
		mem += sb->spec.limits.mem_bytes;
		used += s ? s->mem_bytes : 0;
	}
	return json_pack("{s:I,s:I,s:i,s:I,s:I,s:I,s:[],s:i,s:i,s:i,s:i}", "allocatedCPU", (json_int_t)cpus,
	    "allocatedMemoryBytes", (json_int_t)mem, "cpuPercent", 0, "memoryUsedBytes", (json_int_t)used, "cpuCount",
	    (json_int_t)a->account->metrics->host_cpus, "memoryTotalBytes",
	    (json_int_t)a->account->metrics->host_mem_bytes, "disks", "hugePagesTotal", 0, "hugePagesUsed", 0,
	    "hugePagesReserved", 0, "hugePageSizeBytes", 0);
}

void admin_nodes(struct req *r)
{
	const struct api *a = r->api;
	const struct metrics *m = a->account->metrics;
	size_t starting = 0;

	for (const struct sandbox *sb = sandbox_table_next(a->sandbox->table, NULL); sb;
	    sb = sandbox_table_next(a->sandbox->table, sb))
		starting += sb->state == SANDBOX_STARTING;

	json_t *node = json_pack("{s:s,s:s,s:s,s:s,s:o,s:I,s:o,s:I,s:I,s:I,s:s,s:s,s:{s:s,s:s,s:s,s:s}}", "id", "local",
	    "serviceInstanceID", "local", "clusterID", "00000000-0000-0000-0000-000000000000", "status", "ready",
	    "statusChangedAt", time_json(m->started_wall_ms), "sandboxCount",
	    (json_int_t)(sandbox_table_count(a->sandbox->table) - starting), "metrics", node_metrics(a),
	    "createSuccesses", (json_int_t)m->starts_ok, "createFails", (json_int_t)m->starts_failed,
	    "sandboxStartingCount", (json_int_t)starting, "version", ATOLL_VERSION, "commit", "", "machineInfo",
	    "cpuFamily", "", "cpuModel", "", "cpuModelName", "", "cpuArchitecture", m->host_arch);

	reply_json(r, 200, json_pack("[o]", node), NULL);
}
