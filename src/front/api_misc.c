/* SPDX-License-Identifier: Apache-2.0 */
/* front/api_misc: health, metrics, templates, teams. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "front/api.h"
#include "front/auth.h"
#include "front/front.h"
#include "front/reply.h"
#include "front/request.h"
#include "front/sandbox.h"
#include "front/usage.h"
#include "http/server.h"
#include "http/url.h"

#define MIB (1024 * 1024)

void api_health(struct req *r)
{
	reply_empty(r, 204);
}

/* Unix seconds; absent leaves *ret alone. Answers 400 by itself. */
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

static json_t *sample_json(const struct sandbox *sb, const struct usage_sample *s)
{
	const struct msg_limits *lim = &sb->spec.limits;
	uint64_t mem = sb->usage.last.mem_limit_bytes, disk = sb->usage.last.disk_limit_bytes;
	char when[CLOCK_RFC3339_SIZE];

	clock_rfc3339(s->at_ms, when);
	return json_pack("{s:s,s:I,s:I,s:f,s:I,s:I,s:I,s:I,s:I}", "timestamp", when, "timestampUnix", (json_int_t)(s->at_ms / 1000),
			 "cpuCount", (json_int_t)((lim->cpu_permille + 999) / 1000), "cpuUsedPct", (double)s->cpu_pct,
			 "memUsed", (json_int_t)s->mem_bytes, "memTotal", (json_int_t)(mem ? mem : lim->mem_bytes),
			 "memCache", (json_int_t)s->mem_cache_bytes, "diskUsed", (json_int_t)s->disk_bytes,
			 "diskTotal", (json_int_t)(disk ? disk : lim->disk_bytes));
}

void api_metrics(struct req *r)
{
	struct sandbox *sb = req_sandbox(r);
	uint64_t from = 0, to = UINT32_MAX * 16ull;
	const struct usage_sample *s;

	if (!sb || read_seconds(r, "start", &from) < 0 || read_seconds(r, "end", &to) < 0)
		return;
	if (to < from) {
		reply_error(r, 400, "query parameter 'end' must not be before 'start'");
		return;
	}

	json_t *list = json_array();

	for (size_t i = 0; (s = usage_get(&sb->usage, i)); i++) {
		if (s->at_ms / 1000 >= from && s->at_ms / 1000 <= to)
			(void)json_array_append_new(list, sample_json(sb, s));
	}
	reply_json(r, 200, list, NULL);
}

static json_t *template_json(const struct front *f, const struct template *tp)
{
	const struct msg_limits *lim = &f->defaults;

	return json_pack("{s:s,s:s,s:I,s:I,s:I,s:b,s:[s],s:[s],s:s,s:s,s:n,s:n,s:i,s:i,s:s,s:s}", "templateID", tp->id, "buildID", tp->key,
			 "cpuCount", (json_int_t)((lim->cpu_permille + 999) / 1000), "memoryMB", (json_int_t)(lim->mem_bytes / MIB),
			 "diskSizeMB", (json_int_t)(lim->disk_bytes / MIB), "public", 1, "aliases", tp->name, "names", tp->name,
			 "createdAt", "1970-01-01T00:00:00.000Z", "updatedAt", "1970-01-01T00:00:00.000Z", "createdBy", "lastSpawnedAt",
			 "spawnCount", 0, "buildCount", 1, "envdVersion", ENVD_VERSION, "buildStatus", "ready");
}

void api_templates(struct req *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->front->templates.n; i++)
		(void)json_array_append_new(list, template_json(r->front, &r->front->templates.v[i]));
	reply_json(r, 200, list, NULL);
}

void api_template_alias(struct req *r)
{
	const struct template *tp;
	struct err e;

	if (templates_find(&r->front->templates, str_of(r->param), &tp, &e) < 0)
		reply_err(r, &e);
	else
		reply_json(r, 200, json_pack("{s:s,s:b}", "templateID", tp->id, "public", 1), NULL);
}

void api_teams(struct req *r)
{
	struct str key = http_header_get(&r->http->headers, "x-api-key");

	/* The key is not kept anywhere in the clear: the caller gets back the one that he showed. */
	reply_json(r, 200, json_pack("[{s:s,s:s,s:s%,s:b}]", "teamID", r->team, "name", auth_team_name(r->front->auth, r->team),
				     "apiKey", key.p ? key.p : "", key.n, "isDefault", 1), NULL);
}
