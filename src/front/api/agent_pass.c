/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/agent_pass: passes requests for /mcp and /agent on to atoll-agent, after checking the key. atoll-agent
 * gets the key and calls the API back with it, so it has the rights of the caller and no others. Bodies and
 * answers are streamed. If the client disconnects, the connection is closed, and atoll-agent cancels the request. */
#include <errno.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/api/api.h"
#include "front/api/auth.h"
#include "front/api/handlers.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/api/routes.h"
#include "front/link/agent_link.h"
#include "front/link/links.h"
#include "front/proxy/head.h"
#include "front/proxy/route.h"
#include "front/util/cors.h"
#include "front/util/mem.h"
#include "http/call.h"
#include "http/pump.h"
#include "http/server.h"
#include "http/url.h"

#define MCP_HEADERS "Access-Control-Expose-Headers: Mcp-Session-Id, MCP-Protocol-Version, X-Request-Id, Retry-After\r\n"

struct pass { /* r->work */
	struct req *r;
	struct pump pump;
};

static int begin_call(struct pass *p, bool fresh);

static void unavailable(struct req *r)
{
	reply_json(r, 503,
	    json_pack("{s:i,s:s}", "code", 503, "message",
		"the agent layer is not running at the moment; sandboxes and all other calls are not affected, try "
		"again in a moment"),
	    "Retry-After: 1\r\n");
}

static void on_lost(void *user, int no, bool cut)
{
	struct pass *p = user;

	log_warn("lost the connection to atoll-agent", "request=%s errno=%d", p->r->id, no);
	if (!cut)
		unavailable(p->r);
}

/* --- the client's request --- */

void api_agent_data(struct req *r, struct str data)
{
	struct pass *p = r->work;

	if (!p)
		return;
	if (p->pump.up + data.n > r->route->body_max) {
		pump_drop(&p->pump);
		http_close_after(r->http);
		reply_error(r, 413, "request body is larger than %zu bytes", r->route->body_max);
		return;
	}
	pump_body(&p->pump, data);
}

void api_agent_end(struct req *r)
{
	struct pass *p = r->work;

	if (p)
		pump_body_end(&p->pump);
}

void api_agent_drain(struct req *r)
{
	struct pass *p = r->work;

	if (p)
		pump_drain(&p->pump);
}

/* --- callbacks of the pump --- */

static int put_answer(void *user, const struct http_answer *a, struct buf *out)
{
	struct pass *p = user;
	struct req *r = p->r;

	if (r->status)
		return -EPROTO; /* an answer was sent already */
	buf_z(out, "Access-Control-Allow-Origin: *\r\n" MCP_HEADERS);
	buf_fmt(out, "X-Request-Id: %s\r\n", r->id);
	proxy_put_answer(out, a, 0, false);
	if (!out->bad)
		r->status = a->status;
	return 0;
}

static bool reconnect(void *user)
{
	return begin_call(user, true) == 0;
}

static void on_end(void *user, struct stream *kept)
{
	struct pass *p = user;

	if (kept)
		agent_link_put(p->r->api->link->agent, kept);
}

/* These headers of the client are not passed on: the front adds its own, which no client can forge. */
static bool is_ours(struct str name)
{
	static const char *const ours[] = { "host", "content-length", "expect", "authorization", "x-api-key",
		"x-admin-token", "x-team-id", "x-request-id", "cookie" };

	for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
		if (str_ieq(name, str_of(ours[i])))
			return true;
	}
	return name.n >= 8 && str_ieq((struct str) { name.p, 8 }, STR_LIT("x-atoll-"));
}

static void put_request(void *user, struct buf *out)
{
	const struct req *r = ((struct pass *)user)->r;
	const struct http_req *rq = r->http;
	struct str key = auth_presented_key(rq);

	buf_fmt(out, "%.*s %.*s", STR_ARG(rq->method), STR_ARG(rq->path));
	if (rq->query.n > 0)
		buf_fmt(out, "?%.*s", STR_ARG(rq->query));
	buf_z(out, " HTTP/1.1\r\nHost: agent\r\n");
	for (size_t i = 0; i < rq->headers.n; i++) {
		struct str name = rq->headers.v[i].name;

		if (!is_ours(name) && !proxy_is_hop_by_hop(name, &rq->headers))
			buf_fmt(out, "%.*s: %.*s\r\n", STR_ARG(name), STR_ARG(rq->headers.v[i].value));
	}
	buf_fmt(out, "X-Request-Id: %s\r\nX-Atoll-Team: %s\r\nX-Atoll-Key-Id: %s\r\n", r->id, r->caller.team,
	    r->caller.key);
	buf_z(out, "X-Atoll-Key-Name: ");
	url_encode(out, str_of(r->caller.key_name));
	buf_z(out, "\r\n");
	buf_fmt(out, "X-Atoll-Url: %s://%.*s\r\n", http_is_secure(rq) ? "https" : "http", STR_ARG(rq->host));
	buf_z(out, "X-Atoll-Key: ");
	if (*r->caller.session)
		auth_put_session_key(rq, out);
	else
		buf_str(out, key);
	buf_z(out, "\r\n");
	if (r->caller.admin)
		buf_z(out, "X-Atoll-Admin: 1\r\n");
	if (rq->content_length < 0)
		buf_z(out, "Transfer-Encoding: chunked\r\n");
	else
		buf_fmt(out, "Content-Length: %lld\r\n", (long long)rq->content_length);
	buf_z(out, "\r\n");
}

static const struct pump_ops pump_ops = {
	.put_request = put_request,
	.put_answer = put_answer,
	.reconnect = reconnect,
	.on_end = on_end,
	.on_lost = on_lost,
};

static int begin_call(struct pass *p, bool fresh)
{
	bool reused = false;
	int fd = agent_link_connect(p->r->api->link->agent, fresh, &reused);

	if (fd < 0)
		return fd;
	pump_send(&p->pump, fd, reused);
	return 0;
}

/* --- begin and end --- */

/* A page in a browser may have the server's address under its own host name (DNS rebinding), and would then act
 * with the rights of the user. */
static bool origin_is_fine(const struct req *r)
{
	struct str origin = http_header_get(&r->http->headers, "origin");

	if (!origin.p)
		return true;
	if (str_starts(origin, "http://"))
		str_skip(&origin, 7);
	else if (str_starts(origin, "https://"))
		str_skip(&origin, 8);
	else
		return false;
	return host_is_local(origin, r->api->link->opt.domain);
}

int api_agent_begin(struct req *r)
{
	struct api *a = r->api;

	if (str_is(r->http->path, "/mcp") && !origin_is_fine(r)) {
		reply_error(r, 403,
		    "header Origin: only pages of this machine or of the server's own domain may call this");
		return -EPERM;
	}
	if (a->agent_calls >= links_max_agent_calls(a->link)) {
		reply_json(r, 429, json_pack("{s:i,s:s}", "code", 429, "message", "too many agent calls are under way"),
		    "Retry-After: 1\r\n");
		return -EBUSY;
	}
	struct pass *p = must_alloc(sizeof *p);

	p->r = r;
	pump_init(&p->pump, a->link->loop, r->http, NULL, &pump_ops, p);
	r->work = p;
	a->agent_calls++;
	if (begin_call(p, false) < 0) {
		unavailable(r);
		return -ENOTCONN;
	}
	return 0;
}

void api_agent_over(struct req *r)
{
	struct pass *p = r->work;

	if (!p)
		return;
	pump_done(&p->pump, false);
	r->api->agent_calls--;
}
