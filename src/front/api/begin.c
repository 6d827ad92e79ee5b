/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/begin: route, key, body, handler, in this order. */
#include "front/api/begin.h"

#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/account/accounts.h"
#include "front/account/keyring.h"
#include "front/account/metrics.h"
#include "front/api/api.h"
#include "front/api/audit_request.h"
#include "front/api/auth.h"
#include "front/api/reply.h"
#include "front/api/req.h"
#include "front/api/routes.h"
#include "front/api/wrong_key.h"
#include "front/link/links.h"
#include "front/link/warden_link.h"
#include "front/record/audit.h"
#include "front/util/cors.h"
#include "front/util/mem.h"
#include "front/util/request_id.h"
#include "http/server.h"
#include "http/url.h"

#define PARAM_MAX 512

static void stop_reading(struct req *r)
{
	if (r->is_reading)
		TAILQ_REMOVE(&r->api->reading, r, reading);
	r->is_reading = false;
}

static void on_body(struct http_req *rq, struct str data)
{
	struct req *r = rq->user;

	if (r->status || !r->route || r->route->body_max == 0)
		return;
	if (r->route->on_data) {
		r->route->on_data(r, data);
		return;
	}
	buf_str(&r->body, data);
	if (r->body.bad) {
		http_close_after(rq);
		reply_error(r, 413, "request body is larger than %zu bytes", r->route->body_max);
	}
}

/* The team may have been deleted while the body was read. */
static void handle(struct req *r)
{
	if (*r->caller.team && !keyring_team(r->api->account->keyring, str_of(r->caller.team)))
		reply_error(r, 401, "API key is not known here");
	else
		r->route->handler(r);
}

static void on_body_end(struct http_req *rq)
{
	struct req *r = rq->user;

	stop_reading(r);
	if (!r->status && r->ready)
		handle(r);
}

static void count(struct req *r, bool lost)
{
	struct metrics *m = r->api->account->metrics;
	struct timed *t = &m->routes[route_index(r->route)];

	t->n[outcome_of(r->status, lost)]++;
	histogram_add(&t->time, clock_mono_us() - r->began_us);
	metrics_error(m, r->status, r->is_rate);
}

static void on_close(struct http_req *rq, bool lost)
{
	struct req *r = rq->user;
	bool quiet = r->route && r->route->quiet && r->status < 400;

	r->http = NULL;
	stop_reading(r);
	if (lost && r->route && r->route->on_lost && r->work)
		r->route->on_lost(r);
	if (r->route && r->route->on_over)
		r->route->on_over(r);
	count(r, lost);
	log_at(quiet ? LOG_LVL_DEBUG : LOG_LVL_INFO, "request",
	    "request=%s method=%s route=%s status=%d ms=%.1f team=%s%s%s%s", r->id, r->method,
	    r->route ? r->route->on.pattern : "none", r->status, (double)(clock_mono_us() - r->began_us) / 1000,
	    *r->caller.team ? r->caller.team : "none", *r->sandbox ? " id=" : "", r->sandbox, lost ? " lost=1" : "");
	links_request_over(r->api->link);
	req_unref(r);
}

static void on_drain(struct http_req *rq)
{
	struct req *r = rq->user;

	if (r->route && r->route->on_drain)
		r->route->on_drain(r);
}

static const struct http_req_ops ops = { .on_body = on_body,
	.on_body_end = on_body_end,
	.on_drain = on_drain,
	.on_close = on_close };

/* A path segment that is an id or a name. */
static int take_param(struct req *r, struct str raw, char **ret)
{
	autobuf struct buf out = BUF_INIT(PARAM_MAX);

	if (!raw.p)
		return 0;
	if (url_decode(raw, false, &out) < 0 || out.bad) {
		reply_error(r, 400, "path has a malformed or too long part");
		return -EINVAL;
	}
	*ret = must_dup_str(buf_view(&out));
	return 0;
}

static bool has_key(const struct http_headers *h)
{
	return http_header_get(h, "x-api-key").n > 0 || http_header_get(h, "x-admin-token").n > 0 ||
	    http_header_get(h, "authorization").n > 0;
}

/* Sends an answer if the caller is refused. */
static int check_caller(struct req *r)
{
	autofree char *retry = NULL;
	struct err e;
	int no = auth_check(r->api, r->http, r->route->access, &r->caller, &e);

	if (no == 0 && r->caller.blocked && !route_for_blocked(r->route))
		no = err_set(&e, EPERM,
		    "team is blocked: it can look at what it has and delete it, but make and change nothing");
	if (no == 0 && *r->caller.session && r->caller.role == ROLE_VIEWER && !route_for_viewer(r->route))
		no = err_set(&e, EPERM, "this console session may only look");
	switch (no) {
	case 0:
		return 0;
	case -EACCES:
		if (has_key(&r->http->headers)) {
			wrong_key(r, e.text);
		} else {
			audit_auth_failed(r, e.text);
			reply_error(r, 401, "%s", e.text);
		}
		break;
	case -EPERM:
		audit_auth_failed(r, e.text);
		reply_error(r, 403, "%s", e.text);
		break;
	case -EDQUOT:
		r->is_rate = true;
		audit_rate(r);
		retry = str_fmt("Retry-After: %u\r\n", r->caller.rate.retry_s);
		reply_json(r, 429, json_pack("{s:i,s:s}", "code", 429, "message", e.text), retry);
		break;
	default:
		reply_err(r, &e);
	}
	return no;
}

static void check_and_read(struct req *r, const struct str raw[HTTP_ROUTE_PARAMS])
{
	struct http_req *rq = r->http;

	if (check_caller(r) < 0 || take_param(r, raw[0], &r->param) < 0 || take_param(r, raw[1], &r->param2) < 0)
		return;
	if (r->route->warden && warden_silent(r->api->link->warden)) {
		reply_away(r);
		return;
	}
	if (rq->content_length > 0 && (uint64_t)rq->content_length > r->route->body_max && r->route->body_max > 0) {
		http_close_after(rq);
		reply_error(r, 413, "request body is larger than %zu bytes", r->route->body_max);
		return;
	}
	/* The handler of a route without a body is called at once; a body that is sent nevertheless is discarded. */
	if (r->route->body_max == 0) {
		handle(r);
		return;
	}
	if (audit_blocks(r->api->record)) {
		reply_error(r, 503,
		    "the audit trail cannot be written, and nothing may be done without it (audit = required)");
		return;
	}
	r->ready = true;
	if (r->route->begin) { /* no time limit for the body: the sender is authenticated */
		(void)r->route->begin(r);
		return;
	}
	r->is_reading = true;
	TAILQ_INSERT_TAIL(&r->api->reading, r, reading);
}

void req_end_slow(struct api *a)
{
	uint64_t now_us = clock_mono_us();
	struct req *r;

	while ((r = TAILQ_FIRST(&a->reading)) && now_us - r->began_us > a->link->opt.body_timeout_s * 1000000ull) {
		stop_reading(r);
		http_close_after(r->http);
		reply_error(r, 408, "request body took longer than %u seconds", a->link->opt.body_timeout_s);
	}
}

void req_begin(struct api *a, struct http_req *rq)
{
	autobuf struct buf allow = BUF_INIT(256);
	struct str raw[HTTP_ROUTE_PARAMS] = { STR_NULL, STR_NULL };
	struct req *r = must_alloc(sizeof *r);

	r->api = a;
	r->http = rq;
	r->refs = 1; /* the reference of the connection */
	r->began_us = clock_mono_us();
	request_id(rq, r->id);
	request_session(rq, r->session);
	(void)str_copy(r->method, sizeof r->method, rq->method);
	rq->ops = &ops;
	rq->user = r;
	links_request_begun(a->link);

	if (str_is(rq->method, "OPTIONS")) {
		r->status = 204;
		cors_preflight_api(rq);
		return;
	}
	r->route = route_find(rq->method, rq->path, raw, &allow);
	if (r->route) {
		r->body = BUF_INIT(r->route->body_max);
		check_and_read(r, raw);
	} else if (allow.n > 0) {
		autofree char *line = str_fmt("Allow: %s, OPTIONS\r\n", buf_cstr(&allow));

		reply_json(r, 405, json_pack("{s:i,s:s}", "code", 405, "message", "method not allowed"), line);
	} else {
		reply_error(r, 404, "no such path");
	}
}
