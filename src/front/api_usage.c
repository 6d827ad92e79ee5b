/* SPDX-License-Identifier: Apache-2.0 */
/* front/api_usage: what sandboxes use, and what the front counts. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "front/api.h"
#include "front/front.h"
#include "front/metrics.h"
#include "front/proxy_route.h"
#include "front/reply.h"
#include "front/request.h"
#include "front/sandbox.h"
#include "front/sandbox_table.h"
#include "front/usage.h"
#include "http/server.h"
#include "http/url.h"

#define IDS_MAX 100
#define TEXT_MAX (4 * 1024 * 1024)

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

	return json_pack("{s:o,s:I,s:I,s:f,s:I,s:I,s:I,s:I,s:I,s:I}", "timestamp", time_json(s->at_ms),
			 "timestampUnix", (json_int_t)(s->at_ms / 1000), "cpuCount", (json_int_t)usage_cpus(lim),
			 "cpuUsedPct", usage_cpu_pct(s, lim), "memUsed", (json_int_t)s->mem_bytes,
			 "memTotal", (json_int_t)(mem ? mem : lim->mem_bytes), "memCache", (json_int_t)s->mem_cache_bytes,
			 "diskUsed", (json_int_t)s->disk_bytes, "diskTotal", (json_int_t)(disk ? disk : lim->disk_bytes),
			 "processCount", (json_int_t)s->pids);
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

/* "a,b": the newest sample of each that is the caller's; the others are left out. */
void api_metrics_many(struct req *r)
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
		const struct sandbox *sb = sandbox_table_find(r->front->sandboxes, id);

		if (!sandbox_id_valid(id) || ++n > IDS_MAX) {
			json_decref(found);
			reply_error(r, 400, "query parameter 'sandbox_ids' must have at most %d ids", IDS_MAX);
			return;
		}
		if (sb && sb->usage.n > 0 && strcmp(sb->team, r->caller.team) == 0)
			(void)json_object_set_new(found, sb->id, sample_json(sb, usage_get(&sb->usage, sb->usage.n - 1)));
	}
	reply_json(r, 200, json_pack("{s:o}", "sandboxes", found), NULL);
}

void api_prometheus(struct req *r)
{
	autobuf struct buf text = BUF_INIT(TEXT_MAX);

	metrics_put(r->front, &text);
	if (text.bad)
		reply_error(r, 500, "answer is too large");
	else
		reply_text(r, "text/plain; version=0.0.4; charset=utf-8", buf_view(&text));
}
