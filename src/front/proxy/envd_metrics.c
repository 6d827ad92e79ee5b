/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/envd_metrics: resource use of a sandbox, in the format of envd.
 *
 * Answered by the front, because /proc in a sandbox shows the memory and CPUs of the machine, not its limits. */
#include "front/proxy/envd_metrics.h"

#include <jansson.h>
#include <stdlib.h>

#include "base/fd.h"
#include "front/account/usage.h"
#include "front/link/links.h"
#include "front/link/warden_link.h"
#include "front/proxy/error.h"
#include "front/sandbox/sample.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/util/cors.h"
#include "front/util/envd.h"
#include "front/util/mem.h"
#include "http/json.h"
#include "http/server.h"

#define TEXT_MAX 4096
#define MIB (1024 * 1024)

struct asking {
	struct http_req *rq;
	struct sandbox *sb;
	struct warden_call *call; /* NULL: answered */
};

bool envd_is_metrics(const struct http_req *rq)
{
	return str_is(rq->method, "GET") && str_is(rq->path, "/metrics");
}

static void answer(const struct sandbox *sb, struct http_req *rq)
{
	const struct usage_sample *s = usage_get(&sb->usage, sb->usage.n - 1);
	const struct msg_limits *lim = &sb->spec.limits;
	uint64_t mem = sb->usage.last.mem_limit_bytes, disk = sb->usage.last.disk_limit_bytes;
	autobuf struct buf out = BUF_INIT(TEXT_MAX);

	if (!mem)
		mem = lim->mem_bytes;
	autojson json_t *o = json_pack("{s:I,s:I,s:f,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "ts", (json_int_t)(s->at_ms / 1000),
	    "cpu_count", (json_int_t)usage_cpus(lim), "cpu_used_pct", usage_cpu_pct(s, lim), "mem_total",
	    (json_int_t)mem, "mem_used", (json_int_t)s->mem_bytes, "mem_cache", (json_int_t)s->mem_cache_bytes,
	    "mem_total_mib", (json_int_t)(mem / MIB), "mem_used_mib", (json_int_t)(s->mem_bytes / MIB), "disk_used",
	    (json_int_t)s->disk_bytes, "disk_total", (json_int_t)(disk ? disk : lim->disk_bytes));

	json_put(&out, o);
	http_respond(rq, 200, "application/json", CORS_ENVD_HEADERS "Cache-Control: no-store\r\n", buf_view(&out));
}

static void on_usage(void *user, const struct warden_reply *re)
{
	struct asking *a = user;
	struct sandbox *sb = a->sb;

	a->call = NULL;
	if (usage_take(sb, re))
		answer(sb, a->rq);
	else
		proxy_not_found(a->rq, str_of(sb->id), PORT_ENVD);
}

static void on_close(struct http_req *rq, bool lost)
{
	struct asking *a = rq->user;

	(void)lost;
	warden_cancel(a->call);
	sandbox_unref(a->sb);
	free(a);
}

static const struct http_req_ops asking_ops = { .on_close = on_close };

void envd_metrics(struct sandbox *sb, struct http_req *rq)
{
	struct asking *a;

	if (sb->usage.n > 0) {
		answer(sb, rq);
		return;
	}
	a = must_alloc(sizeof *a); /* it has just started */
	a->rq = rq;
	a->sb = sandbox_ref(sb);
	rq->user = a;
	rq->ops = &asking_ops;
	a->call = warden_ask_id(sb->all->link->warden, OP_USAGE, sb->id, "", on_usage, a);
}
