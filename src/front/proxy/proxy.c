/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/proxy: tokens, internal paths and preflights, before a request is passed into a sandbox. */
#include "front/proxy/proxy.h"

#include "base/clock.h"
#include "base/log.h"
#include "front/link/links.h"
#include "front/proxy/envd_check.h"
#include "front/proxy/envd_metrics.h"
#include "front/proxy/error.h"
#include "front/proxy/exchange.h"
#include "front/proxy/head.h"
#include "front/proxy/lanes.h"
#include "front/proxy/proxies.h"
#include "front/proxy/route.h"
#include "front/proxy/wrong_signature.h"
#include "front/record/audit.h"
#include "front/record/audit_acts.h"
#include "front/sandbox/facts.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/table.h"
#include "front/util/cors.h"
#include "front/util/envd.h"
#include "front/util/request_id.h"
#include "front/util/token.h"
#include "http/server.h"

static bool is_preflight(const struct http_req *rq)
{
	return str_is(rq->method, "OPTIONS") && http_header_get(&rq->headers, "access-control-request-method").p;
}

static void note_refused(struct sandbox *sb, const struct http_req *rq, uint16_t port, const char *why)
{
	const struct sandbox_facts of = sandbox_facts(sb);
	char request[REQUEST_ID_SIZE];

	request_id(rq, request);
	log_warn("access to a sandbox refused", "request=%s id=%s port=%u why='%s'", request, sb->id, port, why);
	audit_door(sb->all->record, &of, rq, request, port, why);
	sandbox_note(sb, LOG_LVL_WARN, JOURNAL_SECURITY, why, "port=%u request=%s", port, request);
}

/* Sends the answer itself if the request is refused. */
static bool may_pass_envd(struct sandbox *sb, struct http_req *rq)
{
	const char *message;

	if (envd_path_is_internal(rq->path)) {
		proxy_hidden(rq, PORT_ENVD);
		return false;
	}
	if (envd_check(rq->method, rq->path, rq->query, http_header_get(&rq->headers, "x-access-token"), sb->envd_token,
		clock_wall_ms() / 1000, &message) < 0) {
		note_refused(sb, rq, PORT_ENVD, message);
		proxy_envd_error(rq, 401, message);
		return false;
	}
	return true;
}

/* The health check needs no token, but must not let strangers resume a sandbox. */
static bool may_wake(struct sandbox *sb, struct http_req *rq)
{
	if (sb->state == SANDBOX_RUNNING || !(sb->spec.flags & SPEC_AUTO_RESUME) || !*sb->envd_token ||
	    !str_is(rq->path, "/health") ||
	    secret_eq(http_header_get(&rq->headers, "x-access-token"), str_of(sb->envd_token)))
		return true;
	note_refused(sb, rq, PORT_ENVD, "access token is needed to wake the sandbox");
	proxy_refuse(rq, 403, str_of(sb->id), PORT_ENVD,
	    "The sandbox is paused; waking it needs the header X-Access-Token");
	return false;
}

static bool may_pass_traffic(struct sandbox *sb, struct http_req *rq, uint16_t port)
{
	struct str shown = http_header_get(&rq->headers, "e2b-traffic-access-token");

	if (!*sb->traffic_token || secret_eq(shown, str_of(sb->traffic_token)))
		return true;
	note_refused(sb, rq, port, "traffic access token is missing or wrong");
	proxy_no_traffic_token(rq, str_of(sb->id), port, shown.n > 0);
	return false;
}

/* The traffic token is accepted like the access token: only the owner of the sandbox gets them. */
static bool may_pass_interpreter(struct sandbox *sb, struct http_req *rq)
{
	const char *message;

	if (!may_pass_traffic(sb, rq, PORT_INTERPRETER))
		return false;
	if (*sb->traffic_token ||
	    interp_check(rq->method, rq->path, http_header_get(&rq->headers, "x-access-token"), sb->envd_token,
		sb->all->link->opt.interpreter_token, &message) == 0)
		return true;
	note_refused(sb, rq, PORT_INTERPRETER, message);
	proxy_envd_error(rq, 401, message);
	return false;
}

static bool may_pass(struct sandbox *sb, struct http_req *rq, uint16_t port)
{
	switch (port) {
	case PORT_ENVD:
		return may_pass_envd(sb, rq) && may_wake(sb, rq);
	case PORT_INTERPRETER:
		return may_pass_interpreter(sb, rq);
	default:
		return may_pass_traffic(sb, rq, port);
	}
}

/* One sandbox may have at most as many requests in progress as there is room left, so others always have room. */
static bool is_crowded(const struct proxies *p, const struct sandbox *sb)
{
	uint32_t most = links_max_exchanges(p->link), all = p->exchanges;

	return all >= most || sb->exchanges >= most - all;
}

void proxy_pass(struct proxies *p, struct sandbox *sb, struct http_req *rq, uint16_t port)
{
	if (is_crowded(p, sb))
		proxy_refuse(rq, 429, str_of(sb->id), port, "Too many requests are under way");
	else if (!may_pass(sb, rq, port))
		return;
	else if (port_is_ours(port) && audit_blocks(p->record) && !str_is(rq->path, "/health"))
		proxy_refuse(rq, 503, str_of(sb->id), port,
		    "The audit trail cannot be written, and nothing may be done without it");
	else if (port == PORT_ENVD && envd_is_metrics(rq) && sb->state == SANDBOX_RUNNING)
		envd_metrics(sb, rq);
	else
		exchange_begin(p, sb, rq, port);
}

static bool has_token(const struct sandbox *sb, const struct http_req *rq, uint16_t port)
{
	struct str shown = http_header_get(&rq->headers, "x-access-token");
	const char *ignored;

	if (port == PORT_ENVD)
		return !envd_path_is_internal(rq->path) &&
		    envd_check(rq->method, rq->path, rq->query, shown, sb->envd_token, clock_wall_ms() / 1000,
			&ignored) == 0;
	if (*sb->traffic_token)
		return secret_eq(http_header_get(&rq->headers, "e2b-traffic-access-token"), str_of(sb->traffic_token));
	return interp_check(rq->method, rq->path, shown, sb->envd_token, sb->all->link->opt.interpreter_token,
		   &ignored) == 0;
}

bool proxy_passes(const struct proxies *p, const struct sandbox *sb, const struct http_req *rq, uint16_t port)
{
	return !str_is(rq->method, "CONNECT") && !is_preflight(rq) && !rq->upgrade && !is_crowded(p, sb) &&
	    has_token(sb, rq, port) && !audit_blocks(p->record) && !(port == PORT_ENVD && envd_is_metrics(rq));
}

void proxy_begin(struct proxies *p, struct http_req *rq, const struct proxy_target *t)
{
	if (str_is(rq->method, "CONNECT")) {
		proxy_plain(rq, 405, "CONNECT is not for clients\n");
		return;
	}
	if (port_is_ours(t->port) && is_preflight(rq)) {
		cors_preflight_port(rq, t->port);
		return;
	}

	struct sandbox *sb = sandbox_table_find(p->sandbox->table, t->id);

	if (!sb || sb->state == SANDBOX_STARTING)
		proxy_not_found(rq, t->id, t->port);
	else if (!p->lanes || !port_is_ours(t->port) || !proxy_passes(p, sb, rq, t->port) ||
	    !lanes_take(p->lanes, sb, rq))
		proxy_pass(p, sb, rq, t->port);
}

bool proxy_begin_signed(struct proxies *p, struct http_req *rq)
{
	autosigned struct signed_file s;

	if (!signed_file_parse(rq->method, rq->path, rq->query, &s))
		return false;
	for (struct sandbox *sb = s.signing ? sandbox_table_next(p->sandbox->table, NULL) : NULL; sb;
	    sb = sandbox_table_next(p->sandbox->table, sb)) {
		if (sb->state != SANDBOX_STARTING && signed_file_by(&s, sb->envd_token)) {
			proxy_pass(p, sb, rq, PORT_ENVD);
			return true;
		}
	}
	wrong_signature(p, rq, "invalid signature");
	return true;
}
