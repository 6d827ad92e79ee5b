/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/metrics_text: the Prometheus text format. Labels are the server's own words, ids and names: none needs
 * escaping. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "front/account/accounts.h"
#include "front/account/metrics.h"
#include "front/api/api.h"
#include "front/api/metrics_text.h"
#include "front/api/routes.h"
#include "front/link/certs.h"
#include "front/link/links.h"
#include "front/link/start_queue.h"
#include "front/proxy/lanes.h"
#include "front/proxy/proxies.h"
#include "front/record/audit.h"
#include "front/record/records.h"
#include "front/record/webhooks.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/table.h"
#include "front/sandbox/warm_pool.h"
#include "front/util/mem.h"
#include "http/server.h"
#include "ipc/check.h"

static const char *const outcome_name[OUTCOMES] = { "ok", "client_error", "server_error", "lost" };
static const char *const class_name[CLASSES] = {
	"auth",
	"forbidden",
	"not_found",
	"bad_request",
	"conflict",
	"too_large",
	"quota",
	"rate",
	"unavailable",
	"internal",
};
static const char *const reason_name[END_REASONS] = { "killed", "expired", "died", "oom", "failed" };
static const char *const port_name[PORT_KINDS] = { "envd", "interpreter", "user" };

static void put_type(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_fmt(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_gauge(struct buf *out, const char *name, const char *help, double v)
{
	put_type(out, name, "gauge", help);
	buf_fmt(out, "%s %.17g\n", name, v);
}

/* label: "name=\"value\"", or "". */
static void put_histogram(struct buf *out, const char *name, const char *label, const struct histogram *h)
{
	const char *comma = *label ? "," : "";
	uint64_t n = 0;

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		n += h->n[i];
		buf_fmt(out, "%s_bucket{%s%sle=\"%g\"} %" PRIu64 "\n", name, label, comma, histogram_bound(i), n);
	}
	n += h->n[HISTOGRAM_BUCKETS];
	buf_fmt(out, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", name, label, comma, n);
	buf_fmt(out, "%s_sum%s%s%s %.6f\n", name, *label ? "{" : "", label, *label ? "}" : "", (double)h->sum_us / 1e6);
	buf_fmt(out, "%s_count%s%s%s %" PRIu64 "\n", name, *label ? "{" : "", label, *label ? "}" : "", n);
}

static uint64_t total(const struct timed *t)
{
	uint64_t n = 0;

	for (size_t i = 0; i < OUTCOMES; i++)
		n += t->n[i];
	return n;
}

static void route_label(size_t i, char *z, size_t size)
{
	const struct route *r = route_at(i);

	(void)snprintf(z, size, "method=\"%s\",route=\"%s\"", r ? r->on.method : "", r ? r->on.pattern : "none");
}

/* Omits routes without requests. */
static void put_requests(struct buf *out, const struct metrics *m)
{
	char label[160];

	put_type(out, "atoll_requests_total", "counter", "requests of the API by route and outcome");
	for (size_t i = 0; i <= METRICS_ROUTES_MAX; i++) {
		route_label(i, label, sizeof label);
		for (size_t k = 0; k < OUTCOMES; k++) {
			if (m->routes[i].n[k])
				buf_fmt(out, "atoll_requests_total{%s,outcome=\"%s\"} %" PRIu64 "\n", label,
				    outcome_name[k], m->routes[i].n[k]);
		}
	}
	put_type(out, "atoll_request_errors_total", "counter",
	    "refused or failed requests of the API by class of the error");
	for (size_t i = 0; i < CLASSES; i++)
		buf_fmt(out, "atoll_request_errors_total{class=\"%s\"} %" PRIu64 "\n", class_name[i], m->errors[i]);
	put_type(out, "atoll_request_seconds", "histogram", "time of requests of the API");
	for (size_t i = 0; i <= METRICS_ROUTES_MAX; i++) {
		route_label(i, label, sizeof label);
		if (total(&m->routes[i]))
			put_histogram(out, "atoll_request_seconds", label, &m->routes[i].time);
	}
	put_type(out, "atoll_auth_failures_total", "counter", "requests with a wrong key");
	buf_fmt(out, "atoll_auth_failures_total %" PRIu64 "\n", m->auth_failures);
	put_type(out, "atoll_refused_calls_total", "counter",
	    "system calls that were refused to programs in sandboxes");
	buf_fmt(out, "atoll_refused_calls_total %" PRIu64 "\n", m->refused_calls);
}

static void put_proxy(struct buf *out, const struct metrics *m)
{
	char label[64];

	put_type(out, "atoll_proxy_requests_total", "counter", "requests into sandboxes by port and outcome");
	for (size_t i = 0; i < PORT_KINDS; i++) {
		for (size_t k = 0; k < OUTCOMES; k++)
			buf_fmt(out, "atoll_proxy_requests_total{port=\"%s\",outcome=\"%s\"} %" PRIu64 "\n",
			    port_name[i], outcome_name[k], m->ports[i].n[k]);
	}
	put_type(out, "atoll_proxy_seconds", "histogram", "time of requests into sandboxes, to the end of the answer");
	for (size_t i = 0; i < PORT_KINDS; i++) {
		(void)snprintf(label, sizeof label, "port=\"%s\"", port_name[i]);
		put_histogram(out, "atoll_proxy_seconds", label, &m->ports[i].time);
	}
	put_type(out, "atoll_proxy_bytes_total", "counter", "bodies and tunnels, into and out of sandboxes");
	buf_fmt(out, "atoll_proxy_bytes_total{direction=\"up\"} %" PRIu64 "\n", m->bytes_up);
	buf_fmt(out, "atoll_proxy_bytes_total{direction=\"down\"} %" PRIu64 "\n", m->bytes_down);
}

static void put_lives(struct buf *out, const struct api *a)
{
	static const char *const names[] = { "starting", "running", "pausing", "paused", "resuming", "keeping" };
	const struct metrics *m = a->account->metrics;
	size_t n[ARRAY_LEN(names)] = { 0 };

	for (const struct sandbox *sb = sandbox_table_next(a->sandbox->table, NULL); sb;
	    sb = sandbox_table_next(a->sandbox->table, sb)) {
		if (sb->state < ARRAY_LEN(names))
			n[sb->state]++;
	}
	put_type(out, "atoll_sandboxes", "gauge", "sandboxes by state");
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		buf_fmt(out, "atoll_sandboxes{state=\"%s\"} %zu\n", names[i], n[i]);
	put_type(out, "atoll_sandbox_starts_total", "counter", "sandboxes that were to be started");
	buf_fmt(out, "atoll_sandbox_starts_total{outcome=\"ok\"} %" PRIu64 "\n", m->starts_ok);
	buf_fmt(out, "atoll_sandbox_starts_total{outcome=\"error\"} %" PRIu64 "\n", m->starts_failed);
	put_type(out, "atoll_sandbox_ends_total", "counter", "sandboxes that ended, by reason");
	for (size_t i = 0; i < END_REASONS; i++)
		buf_fmt(out, "atoll_sandbox_ends_total{reason=\"%s\"} %" PRIu64 "\n", reason_name[i], m->ends[i]);
	put_type(out, "atoll_memory_limit_kills_total", "counter",
	    "processes killed because their sandbox was at its memory limit");
	buf_fmt(out, "atoll_memory_limit_kills_total %" PRIu64 "\n", m->oom_kills);
	put_type(out, "atoll_sandbox_create_seconds", "histogram",
	    "time from a request to create a sandbox to its answer");
	put_histogram(out, "atoll_sandbox_create_seconds", "", &m->create);
}

static void put_executions(struct buf *out, const struct metrics *m)
{
	char label[64];

	put_type(out, "atoll_executions_total", "counter",
	    "code and commands that were run in sandboxes, by what became of them");
	for (enum execution_kind k = 0; k < EXECUTION_KINDS; k++) {
		for (enum execution_outcome o = 0; o < EXECUTION_OUTCOMES; o++)
			buf_fmt(out, "atoll_executions_total{kind=\"%s\",outcome=\"%s\"} %" PRIu64 "\n",
			    execution_kind_name(k), execution_outcome_name(o), m->executions[k].n[o]);
	}
	put_type(out, "atoll_execution_errors_total", "counter", "errors of code and commands by class");
	for (enum execution_class c = 0; c < ERROR_CLASSES; c++)
		buf_fmt(out, "atoll_execution_errors_total{class=\"%s\"} %" PRIu64 "\n", execution_class_name(c),
		    m->execution_errors[c]);
	put_type(out, "atoll_execution_seconds", "histogram", "time of code and commands, to the end of their output");
	for (enum execution_kind k = 0; k < EXECUTION_KINDS; k++) {
		(void)snprintf(label, sizeof label, "kind=\"%s\"", execution_kind_name(k));
		put_histogram(out, "atoll_execution_seconds", label, &m->executions[k].time);
	}
}

/* The used fraction of each resource. */
static void put_utilisation(struct buf *out, const struct api *a)
{
	size_t busy = 0;
	double cpu_pct = 0;

	for (struct sandbox *sb = sandbox_table_next(a->sandbox->table, NULL); sb;
	    sb = sandbox_table_next(a->sandbox->table, sb)) {
		const struct usage_sample *s = sb->state == SANDBOX_RUNNING ? usage_get(&sb->usage, sb->usage.n - 1)
									    : NULL;

		busy += sandbox_in_use(sb);
		cpu_pct += s ? s->cpu_pct : 0;
	}
	put_gauge(out, "atoll_sandboxes_max", "sandboxes that there may be", a->sandbox->max_sandboxes);
	put_gauge(out, "atoll_sandboxes_busy", "sandboxes with a request under way", (double)busy);
	put_gauge(out, "atoll_sandboxes_memory_bytes", "memory that all sandboxes use together",
	    (double)a->sandbox->memory.used_bytes);
	put_gauge(out, "atoll_sandboxes_cpu_cores", "processors that all sandboxes use together", cpu_pct / 100);
	put_gauge(out, "atoll_host_cpu_cores", "processors of the host", (double)a->account->metrics->host_cpus);
	put_gauge(out, "atoll_host_memory_bytes", "memory of the host", (double)a->account->metrics->host_mem_bytes);
}

static void put_webhooks(struct buf *out, const struct api *a)
{
	const struct metrics *m = a->account->metrics;

	put_type(out, "atoll_webhook_attempts_total", "counter", "webhooks that were called, by what became of it");
	for (uint32_t i = 0; i < HK_OUTCOMES; i++)
		buf_fmt(out, "atoll_webhook_attempts_total{outcome=\"%s\"} %" PRIu64 "\n", hk_outcome_name(i),
		    m->webhooks_tried[i]);
	put_type(out, "atoll_webhook_failures_total", "counter", "deliveries that were given up");
	buf_fmt(out, "atoll_webhook_failures_total %" PRIu64 "\n", m->webhooks_failed);
	put_type(out, "atoll_webhook_dropped_total", "counter",
	    "deliveries that were not queued, because too many wait");
	buf_fmt(out, "atoll_webhook_dropped_total %" PRIu64 "\n", m->webhooks_dropped);
	put_gauge(out, "atoll_webhook_waiting", "deliveries that wait",
	    a->record->webhooks ? (double)webhooks_waiting(a->record->webhooks) : 0);
	put_type(out, "atoll_alerts_total", "counter", "sandboxes that came near one of their limits");
	for (enum alert i = 0; i < ALERTS; i++)
		buf_fmt(out, "atoll_alerts_total{resource=\"%s\"} %" PRIu64 "\n", alert_name(i), m->alerts[i]);
}

static const char *op_label(unsigned op)
{
	return op == OP_AUDIT ? "trail" : msg_info(op)->name; /* the label stays as it was, for existing dashboards */
}

static void put_warden(struct buf *out, const struct metrics *m)
{
	char label[64];

	put_type(out, "atoll_warden_seconds", "histogram", "round trips to the warden");
	for (unsigned i = OP_HELLO; i < OP_COUNT; i++) {
		(void)snprintf(label, sizeof label, "op=\"%s\"", op_label(i));
		put_histogram(out, "atoll_warden_seconds", label, &m->warden[i]);
	}
}

/* --- each sandbox --- */

static int by_age(const void *a, const void *b)
{
	const struct sandbox *const *x = a, *const *y = b;

	return (*x)->started_us<(*y)->started_us ? 1 : (*x)->started_us>(*y)->started_us ? -1 : 0;
}

static double sample_value(const struct sandbox *sb, size_t what)
{
	const struct usage_ring *r = &sb->usage;
	const struct usage_sample *s = usage_get(r, r->n - 1);

	switch (what) {
	case 0:
		return s->cpu_pct;
	case 1:
		return (double)s->mem_bytes;
	case 2:
		return (double)r->last.mem_limit_bytes;
	case 3:
		return (double)s->disk_bytes;
	case 4:
		return (double)r->last.disk_limit_bytes;
	default:
		return s->pids;
	}
}

static void put_each(struct buf *out, const struct api *a)
{
	static const char *const what[][2] = {
		{ "atoll_sandbox_cpu_percent", "processor use since the sample before, 100 is one core" },
		{ "atoll_sandbox_memory_bytes", "memory in use" },
		{ "atoll_sandbox_memory_limit_bytes", "memory that it may use" },
		{ "atoll_sandbox_disk_bytes", "disk in use" },
		{ "atoll_sandbox_disk_limit_bytes", "disk that it may use" },
		{ "atoll_sandbox_processes", "processes and threads" },
	};
	autofree const struct sandbox **v = must_alloc((sandbox_table_count(a->sandbox->table) + 1) * sizeof *v);
	size_t n = 0;

	for (const struct sandbox *sb = sandbox_table_next(a->sandbox->table, NULL); sb;
	    sb = sandbox_table_next(a->sandbox->table, sb)) {
		if (sb->state == SANDBOX_RUNNING && sb->usage.n > 0)
			v[n++] = sb;
	}
	qsort(v, n, sizeof *v, by_age);
	for (size_t k = 0; k < ARRAY_LEN(what); k++) {
		put_type(out, what[k][0], "gauge", what[k][1]);
		for (size_t i = 0; i < n && i < METRICS_SANDBOXES_MAX; i++)
			buf_fmt(out, "%s{sandbox=\"%s\",team=\"%s\"} %.17g\n", what[k][0], v[i]->id, v[i]->team,
			    sample_value(v[i], k));
	}
}

static double resident_bytes(const struct metrics *m)
{
	char text[128];
	ssize_t n = m->statm_fd < 0 ? -1 : pread(m->statm_fd, text, sizeof text - 1, 0);
	uint64_t pages = 0;

	if (n <= 0)
		return 0;

	struct str rest = { text, (size_t)n };

	(void)str_cut(&rest, ' ');
	(void)str_to_u64(str_cut(&rest, ' '), UINT32_MAX, &pages);
	return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void put_audit(struct buf *out, const struct api *a)
{
	struct audit_counts c;

	if (!audit_counts(a->record, &c))
		return;
	put_type(out, "atoll_audit_records_total", "counter", "records written to the audit trail by this process");
	buf_fmt(out, "atoll_audit_records_total %" PRIu64 "\n", c.records);
	put_type(out, "atoll_audit_failures_total", "counter", "records that could not be written");
	buf_fmt(out, "atoll_audit_failures_total %" PRIu64 "\n", c.failures);
	put_gauge(out, "atoll_audit_failing", "1: the audit trail cannot be written now", c.failing);
	put_gauge(out, "atoll_audit_bytes", "size of the files of the audit trail", (double)c.bytes);
	put_gauge(out, "atoll_audit_sequence", "number of the last record", (double)c.seq);
}

static void put_starts(struct buf *out, const struct start_queue *q)
{
	put_gauge(out, "atoll_starts_waiting", "starts that wait for a builder", start_queue_waiting(q));
	put_type(out, "atoll_starts_refused_total", "counter", "starts refused because too many were waiting");
	buf_fmt(out, "atoll_starts_refused_total %" PRIu64 "\n", start_queue_refused(q));
}

void metrics_put(const struct api *a, struct buf *out)
{
	const struct metrics *m = a->account->metrics;

	put_requests(out, m);
	put_proxy(out, m);
	put_lives(out, a);
	put_starts(out, a->link->starts);
	warm_pool_put_metrics(a->sandbox->warm_pool, out);
	put_warden(out, m);
	put_executions(out, m);
	put_utilisation(out, a);
	put_webhooks(out, a);
	put_audit(out, a);
	put_gauge(out, "atoll_connections", "client connections",
	    (double)(http_server_conns(a->server) + lanes_conns(a->proxy->lanes)));
	put_type(out, "atoll_connections_evicted_total", "counter",
	    "idle connections closed to make room for new ones");
	buf_fmt(out, "atoll_connections_evicted_total %" PRIu64 "\n",
	    http_server_evicted(a->server) + lanes_evicted(a->proxy->lanes));
	put_type(out, "atoll_http2_requests_total", "counter", "requests that came by HTTP/2");
	buf_fmt(out, "atoll_http2_requests_total %" PRIu64 "\n", http_server_h2_requests(a->server));
	if (a->link->certs)
		put_gauge(out, "atoll_tls_certificate_expiry_seconds",
		    "when the TLS certificate ends, seconds of the epoch", (double)certs_not_after(a->link->certs));
	put_gauge(out, "atoll_tunnels", "upgraded connections", a->proxy->tunnels);
	put_gauge(out, "atoll_requests_open", "requests under way",
	    a->link->requests + lanes_requests(a->proxy->lanes));
	put_gauge(out, "atoll_front_resident_bytes", "memory of this process", resident_bytes(m));
	put_gauge(out, "atoll_front_start_time_seconds", "when this process started",
	    (double)m->started_wall_ms / 1000);
	put_type(out, "atoll_build_info", "gauge", "version of the server");
	buf_fmt(out, "atoll_build_info{version=\"%s\"} 1\n", ATOLL_VERSION);
	put_each(out, a);
}
