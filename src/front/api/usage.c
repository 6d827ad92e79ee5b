/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/usage: the resource use of sandboxes and teams. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "front/account/accounts.h"
#include "front/account/census.h"
#include "front/account/metrics.h"
#include "front/account/usage.h"
#include "front/api/api.h"
#include "front/api/handlers.h"
#include "front/api/metrics_text.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/proxy/route.h"
#include "front/sandbox/sample.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/table.h"
#include "front/util/mem.h"
#include "front/util/time_json.h"
#include "http/server.h"
#include "http/url.h"

#define IDS_MAX 100
#define TEAM_RANGE_S (7ull * 24 * 3600)
#define TIME_MAX_S 10413791999ull /* the end of the year 2299, the maximum of E2B's own store */
#define TEAM_POINTS_MAX 1000
#define TEXT_MAX (4 * 1024 * 1024)

/* Unix seconds; *ret is unchanged if absent. On failure sends 400. */
static int read_seconds(struct req *r, const char *name, uint64_t *ret)
{
	autofree char *text = NULL;
	int got = query_get(r->http->query, name, &text);

	if (got == -ENOENT)
		return 0;
	if (got < 0 || str_to_u64(str_of(text), UINT32_MAX * 16ull, ret) < 0) {
		reply_error(r, 400, "query parameter '%s' must be a time in seconds since 1970", name);
		return -EINVAL;
	}
	return 0;
}

/* The range [from, to] of the query; absent bounds are unchanged. On failure sends 400. */
static int read_range(struct req *r, uint64_t *from_s, uint64_t *to_s)
{
	if (read_seconds(r, "start", from_s) < 0 || read_seconds(r, "end", to_s) < 0)
		return -EINVAL;
	if (*to_s >= *from_s)
		return 0;
	reply_error(r, 400, "query parameter 'end' must not be before 'start'");
	return -EINVAL;
}

static json_t *sample_json(const struct sandbox *sb, const struct usage_sample *s)
{
	const struct msg_limits *lim = &sb->spec.limits;
	uint64_t mem = sb->usage.last.mem_limit_bytes, disk = sb->usage.last.disk_limit_bytes;

	return json_pack("{s:o,s:I,s:I,s:f,s:I,s:I,s:I,s:I,s:I,s:I}", "timestamp", time_json(s->at_ms), "timestampUnix",
	    (json_int_t)(s->at_ms / 1000), "cpuCount", (json_int_t)usage_cpus(lim), "cpuUsedPct", usage_cpu_pct(s, lim),
	    "memUsed", (json_int_t)s->mem_bytes, "memTotal", (json_int_t)(mem ? mem : lim->mem_bytes), "memCache",
	    (json_int_t)s->mem_cache_bytes, "diskUsed", (json_int_t)s->disk_bytes, "diskTotal",
	    (json_int_t)(disk ? disk : lim->disk_bytes), "processCount", (json_int_t)s->pids);
}

/* An answer that waits for the first samples of sandboxes that have none yet. */
struct early {
	struct req *r;
	void (*answer)(struct req *r);
	size_t left;
};

static struct early *early_new(struct req *r, void (*answer)(struct req *r))
{
	struct early *early = must_alloc(sizeof *early);

	/* one for the caller, until all samples are requested */
	*early = (struct early) { .r = req_ref(r), .answer = answer, .left = 1 };
	return early;
}

static void early_drop(void *user)
{
	struct early *early = user;

	if (--early->left > 0)
		return;
	if (early->r->http)
		early->answer(early->r);
	req_unref(early->r);
	free(early);
}

static void early_ask(struct early *early, struct sandbox *sb)
{
	if (usage_lacks_first(sb)) {
		early->left++;
		usage_first(sb, early_drop, early);
	}
}

static void list_samples(struct req *r)
{
	struct sandbox *sb = req_sandbox(r);
	uint64_t from = 0, to = UINT32_MAX * 16ull;
	const struct usage_sample *s;

	if (!sb || read_range(r, &from, &to) < 0)
		return;

	json_t *list = json_array();

	for (size_t i = 0; (s = usage_get(&sb->usage, i)); i++) {
		if (s->at_ms / 1000 >= from && s->at_ms / 1000 <= to)
			(void)json_array_append_new(list, sample_json(sb, s));
	}
	reply_json(r, 200, list, NULL);
}

void api_metrics(struct req *r)
{
	struct sandbox *sb = req_sandbox(r);
	struct early *early;

	if (!sb)
		return;
	early = early_new(r, list_samples);
	early_ask(early, sb);
	early_drop(early);
}

/* "a,b": the newest sample of each sandbox of the caller; others are omitted. */
static void newest_samples(struct req *r)
{
	autofree char *ids = NULL;
	size_t n = 0;

	if (query_get(r->http->query, "sandbox_ids", &ids) < 0 || !*ids) {
		reply_error(r, 400, "query parameter 'sandbox_ids' must be a list of ids, separated by commas");
		return;
	}

	json_t *found = json_object();
	struct str rest = str_of(ids);

	while (rest.p) {
		struct str id = str_cut(&rest, ',');
		const struct sandbox *sb = sandbox_table_find(r->api->sandbox->table, id);

		if (!sandbox_id_valid(id) || ++n > IDS_MAX) {
			json_decref(found);
			reply_error(r, 400, "query parameter 'sandbox_ids' must have at most %d ids", IDS_MAX);
			return;
		}
		if (sb && sb->usage.n > 0 && strcmp(sb->team, r->caller.team) == 0)
			(void)json_object_set_new(found, sb->id,
			    sample_json(sb, usage_get(&sb->usage, sb->usage.n - 1)));
	}
	reply_json(r, 200, json_pack("{s:o}", "sandboxes", found), NULL);
}

void api_metrics_many(struct req *r)
{
	struct early *early = early_new(r, newest_samples);
	autofree char *ids = NULL;

	if (query_get(r->http->query, "sandbox_ids", &ids) == 0) {
		struct str rest = str_of(ids);

		for (size_t n = 0; rest.p && n < IDS_MAX; n++) {
			struct sandbox *sb = sandbox_table_find(r->api->sandbox->table, str_cut(&rest, ','));

			if (sb && strcmp(sb->team, r->caller.team) == 0)
				early_ask(early, sb);
		}
	}
	early_drop(early);
}

/* --- teams --- */

struct steps { /* minutes combined into steps, so that a long range gives a short answer */
	json_t *list;
	uint64_t step_s;
	struct team_point sum; /* the step that begins at sum.at_s */
};

static json_t *at_json(uint64_t at_s, const char *name, json_t *value)
{
	return json_pack("{s:o,s:I,s:o}", "timestamp", time_json(at_s * 1000), "timestampUnix", (json_int_t)at_s, name,
	    value);
}

static void end_step(struct steps *st)
{
	const struct team_point *p = &st->sum;

	if (p->at_s) {
		json_t *o = at_json(p->at_s, "concurrentSandboxes", json_integer(p->running));

		(void)json_object_set_new(o, "sandboxStartRate", json_real((double)p->starts / (double)st->step_s));
		(void)json_array_append_new(st->list, o);
	}
}

static void add_to_step(void *user, const struct team_point *p)
{
	struct steps *st = user;
	uint64_t at_s = p->at_s / st->step_s * st->step_s;

	if (at_s != st->sum.at_s) {
		end_step(st);
		st->sum = (struct team_point) { .at_s = at_s };
	}
	st->sum.running = p->running > st->sum.running ? p->running : st->sum.running;
	st->sum.starts += p->starts;
}

/* The caller's own team and the range, by default the last week. On failure sends an answer. */
static int read_team_range(struct req *r, uint64_t *from_s, uint64_t *to_s)
{
	*to_s = clock_wall_ms() / 1000;
	*from_s = *to_s - TEAM_RANGE_S;
	if (strcmp(r->param, r->caller.team) != 0) {
		reply_error(r, 403, "this key is not of team '%.64s'", r->param);
		return -EACCES;
	}
	if (read_range(r, from_s, to_s) < 0)
		return -EINVAL;
	if (*to_s <= TIME_MAX_S)
		return 0;
	reply_error(r, 400, "query parameter 'end': the end time cannot be after the year 2299");
	return -EINVAL;
}

void api_team_metrics(struct req *r)
{
	uint64_t from_s, to_s;
	struct err e;

	if (read_team_range(r, &from_s, &to_s) < 0)
		return;

	uint64_t now_s = clock_wall_ms() / 1000, last_s = to_s < now_s ? to_s : now_s;
	uint64_t minutes = last_s > from_s ? (last_s - from_s) / CENSUS_STEP_S : 0;
	struct steps st = { .list = json_array(), .step_s = (minutes / TEAM_POINTS_MAX + 1) * CENSUS_STEP_S };

	if (census_each(r->api->account->census, r->caller.team, from_s, to_s, add_to_step, &st, &e) < 0) {
		json_decref(st.list);
		reply_err(r, &e);
		return;
	}
	end_step(&st);
	reply_json(r, 200, st.list, NULL);
}

struct most {
	bool rate;
	uint64_t at_s;
	double value;
};

static void take_most(void *user, const struct team_point *p)
{
	struct most *m = user;
	double v = m->rate ? (double)p->starts / CENSUS_STEP_S : p->running;

	if (v > m->value) {
		m->value = v;
		m->at_s = p->at_s;
	}
}

void api_team_metrics_max(struct req *r)
{
	autofree char *metric = NULL;
	uint64_t from_s, to_s;
	struct err e;

	if (read_team_range(r, &from_s, &to_s) < 0)
		return;
	if (query_get(r->http->query, "metric", &metric) < 0 ||
	    (strcmp(metric, "concurrent_sandboxes") != 0 && strcmp(metric, "sandbox_start_rate") != 0)) {
		reply_error(r, 400, "query parameter 'metric' must be 'concurrent_sandboxes' or 'sandbox_start_rate'");
		return;
	}

	struct most m = { .rate = metric[0] == 's', .at_s = from_s };

	if (census_each(r->api->account->census, r->caller.team, from_s, to_s, take_most, &m, &e) < 0)
		reply_err(r, &e);
	else
		reply_json(r, 200, at_json(m.at_s, "value", json_real(m.value)), NULL);
}

void api_prometheus(struct req *r)
{
	autobuf struct buf text = BUF_INIT(TEXT_MAX);

	metrics_put(r->api, &text);
	if (text.bad)
		reply_error(r, 500, "answer is too large");
	else
		reply_text(r, "text/plain; version=0.0.4; charset=utf-8", buf_view(&text));
}
