/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/agent_pass: requests for /mcp and /agent, let in by their key and passed on to atoll-agent, which gets the
 * key: it acts for the caller by calling us back, with the caller's rights and no others. Bodies and answers stream
 * both ways; when the client goes, so does the connection, and atoll-agent gives up what it was doing for it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/api/auth.h"
#include "front/api/handlers.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/api/routes.h"
#include "front/front.h"
#include "front/link/agent_link.h"
#include "front/proxy/head.h"
#include "front/proxy/route.h"
#include "front/util/cors.h"
#include "front/util/mem.h"
#include "http/call.h"
#include "http/server.h"
#include "http/url.h"
#include "loop/stream.h"

#define HEAD_MAX (HTTP_HEAD_MAX + 4096)
#define MCP_HEADERS "Access-Control-Expose-Headers: Mcp-Session-Id, MCP-Protocol-Version, X-Request-Id, Retry-After\r\n"

struct pass { /* r->work */
	struct req *r;
	struct http_call *call; /* NULL: over */
	size_t up;              /* bytes of the body so far */
	bool chunked;
	bool reused, body_sent, body_ended, answered;
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

/* The way there is broken. */
static void lost(struct pass *p)
{
	http_call_free(take_ptr(&p->call));
	if (!p->r->http)
		return;
	if (http_started(p->r->http))
		http_abort(p->r->http);
	else
		unavailable(p->r);
}

/* --- up ------------------------------------------------------------------------------------------------------ */

void api_agent_data(struct req *r, struct str data)
{
	struct pass *p = r->work;
	char size[24];

	if (!p || !p->call)
		return;
	p->up += data.n;
	if (p->up > r->route->body_max) {
		http_call_free(take_ptr(&p->call));
		http_close_after(r->http);
		reply_error(r, 413, "request body is larger than %zu bytes", r->route->body_max);
		return;
	}
	p->body_sent = true;
	if (p->chunked) {
		int n = snprintf(size, sizeof size, "%zx\r\n", data.n);

		http_call_writev(p->call, (struct str[]) { { size, (size_t)n }, data, STR_LIT("\r\n") }, 3);
	} else {
		http_call_write(p->call, data);
	}
	if (http_call_queued(p->call) > STREAM_HIGH)
		http_body_want(r->http, false);
}

void api_agent_end(struct req *r)
{
	struct pass *p = r->work;

	if (!p)
		return;
	p->body_ended = true;
	if (p->call && p->chunked)
		http_call_write(p->call, STR_LIT("0\r\n\r\n"));
}

static void on_up_drain(void *user)
{
	struct pass *p = user;

	if (p->r->http)
		http_body_want(p->r->http, true);
}

/* --- down ---------------------------------------------------------------------------------------------------- */

static void slow_down(struct pass *p)
{
	if (p->call && p->r->http && http_queued(p->r->http) > STREAM_HIGH)
		http_call_read(p->call, false);
}

void api_agent_drain(struct req *r)
{
	struct pass *p = r->work;

	if (p && p->call)
		http_call_read(p->call, true);
}

static void on_answer(void *user, const struct http_answer *a)
{
	struct pass *p = user;
	struct req *r = p->r;
	autobuf struct buf lines = BUF_INIT(HEAD_MAX);

	p->answered = true;
	if (a->upgrade || r->status || !r->http) { /* nobody asked for it, or it comes too late */
		lost(p);
		return;
	}
	buf_z(&lines, "Access-Control-Allow-Origin: *\r\n" MCP_HEADERS);
	buf_fmt(&lines, "X-Request-Id: %s\r\n", r->id);
	proxy_put_answer(&lines, a, 0);
	if (lines.bad) {
		lost(p);
		return;
	}
	r->status = a->status;
	http_begin(r->http, a->status, NULL, buf_cstr(&lines), a->content_length);
	slow_down(p);
}

static void on_answer_data(void *user, struct str data)
{
	struct pass *p = user;

	if (p->r->http)
		http_write(p->r->http, data);
	slow_down(p);
}

static void on_answer_end(void *user)
{
	struct pass *p = user;
	bool reusable = false;
	int fd = -1;

	if (p->body_ended)
		fd = http_call_done(take_ptr(&p->call), &reusable);
	else
		http_call_free(take_ptr(&p->call));
	if (fd >= 0)
		agent_link_put(p->r->front->link.agent, fd);
	if (p->r->http)
		http_end(p->r->http);
}

static void on_error(void *user, int no)
{
	struct pass *p = user;

	/* An idle connection that was closed in this very moment: nothing of the request was done. */
	if (p->reused && !p->answered && !p->body_sent && p->r->http) {
		http_call_free(take_ptr(&p->call));
		if (begin_call(p, true) == 0)
			return;
	}
	log_warn("lost the connection to atoll-agent", "request=%s errno=%d", p->r->id, no);
	lost(p);
}

static const struct http_call_ops call_ops = {
	.on_answer = on_answer,
	.on_data = on_answer_data,
	.on_end = on_answer_end,
	.on_drain = on_up_drain,
	.on_error = on_error,
};

/* --- begin and end ------------------------------------------------------------------------------------------- */

/* What was for us does not go on as it came: whose request it is we say ourselves, in lines that no client can put
 * in. */
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

static void put_head(struct buf *out, const struct req *r)
{
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
	if (key.n > 0)
		buf_fmt(out, "X-Atoll-Key: %.*s\r\n", STR_ARG(key));
	if (r->caller.admin)
		buf_z(out, "X-Atoll-Admin: 1\r\n");
	if (rq->content_length < 0)
		buf_z(out, "Transfer-Encoding: chunked\r\n");
	else
		buf_fmt(out, "Content-Length: %lld\r\n", (long long)rq->content_length);
	buf_z(out, "\r\n");
}

static int begin_call(struct pass *p, bool fresh)
{
	struct front *f = p->r->front;
	autobuf struct buf head = BUF_INIT(HEAD_MAX);
	int fd = agent_link_connect(f->link.agent, fresh, &p->reused);

	if (fd < 0)
		return fd;
	put_head(&head, p->r);
	p->call = http_call_new(f->link.loop, fd, &call_ops, p);
	if (!p->call || head.bad)
		return -ENOMEM;
	http_call_head(p->call, buf_view(&head), str_is(p->r->http->method, "HEAD"), false);
	explicit_bzero(head.p, head.n);
	if (p->body_ended && p->chunked)
		http_call_write(p->call, STR_LIT("0\r\n\r\n"));
	return 0;
}

/* A page that some browser has open may name our address as its own (DNS rebinding), and then speak for whoever sits
 * there. */
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
	return host_is_local(origin, r->front->link.opt.domain);
}

int api_agent_begin(struct req *r)
{
	struct front *f = r->front;

	if (str_is(r->http->path, "/mcp") && !origin_is_fine(r)) {
		reply_error(r, 403,
		    "header Origin: only pages of this machine or of the server's own domain may call this");
		return -EPERM;
	}
	if (f->api.agent_calls >= links_max_agent_calls(&f->link)) {
		reply_json(r, 429, json_pack("{s:i,s:s}", "code", 429, "message", "too many agent calls are under way"),
		    "Retry-After: 1\r\n");
		return -EBUSY;
	}
	struct pass *p = must_alloc(sizeof *p);

	p->r = r;
	p->chunked = r->http->content_length < 0;
	r->work = p;
	f->api.agent_calls++;
	if (begin_call(p, false) < 0) {
		lost(p);
		return -ENOTCONN;
	}
	return 0;
}

void api_agent_over(struct req *r)
{
	struct pass *p = r->work;

	if (!p)
		return;
	http_call_free(take_ptr(&p->call));
	r->front->api.agent_calls--;
}
