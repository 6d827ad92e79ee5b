/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/volume_content: checks the token, connects, passes the body up and the answer down. */
#include "front/proxy/volume_content.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/account/accounts.h"
#include "front/account/keyring.h"
#include "front/link/links.h"
#include "front/link/warden_link.h"
#include "front/proxy/proxies.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/volumes.h"
#include "front/util/cors.h"
#include "front/util/mem.h"
#include "front/util/request_id.h"
#include "front/util/token.h"
#include "http/call.h"
#include "http/json.h"
#include "http/pump.h"
#include "http/server.h"
#include "loop/loop.h"
#include "loop/stream.h"

#define PREFIX "/volumecontent/"
#define CONNS_MAX 32  /* fewer than the warden has places, because some of those may be ending */
#define TRIES_MAX 200 /* attempts until there is room */
#define RETRY_MS 50

struct content {
	struct proxies *proxies;
	struct http_req *rq;
	struct volume *v;
	struct warden_call *connecting;
	struct timer *retry;
	unsigned tries;
	struct pump pump;
	bool counted; /* counted in sandboxes.volume_calls */
	int status;
	uint64_t began_us;
	char method[16];
	char id[REQUEST_ID_SIZE];
};

static void connect_up(struct content *c);

bool volume_content_is(const struct http_req *rq)
{
	return str_starts(rq->path, PREFIX);
}

/* --- refusals ----------------------------------------------------------------------------------------------- */

/* The error codes of this API are words. */
static void refuse(struct http_req *rq, int status, const char *code, const char *text, const char *request)
{
	autojson json_t *j = json_pack("{s:s,s:s}", "code", code, "message", text);
	autobuf struct buf out = BUF_INIT(4096), headers = BUF_INIT(1024);

	json_put(&out, j);
	buf_z(&headers, CORS_API_HEADERS);
	buf_fmt(&headers, "X-Request-Id: %s\r\n", request);
	http_respond(rq, status, "application/json", buf_cstr(&headers), buf_view(&out));
}

static void drop_up(struct content *c)
{
	warden_cancel(take_ptr(&c->connecting));
	pump_drop(&c->pump);
	timer_free(take_ptr(&c->retry));
	if (c->counted)
		c->proxies->sandbox->volume_calls--;
	c->counted = false;
}

/* Before anything was sent to the server of the volume. */
static void give_up(struct content *c, int status, const char *code, const char *text)
{
	drop_up(c);
	c->status = status;
	refuse(c->rq, status, code, text, c->id);
}

static void on_lost(void *user, int no, bool cut)
{
	struct content *c = user;

	drop_up(c);
	c->status = no == ENOMEM ? 503 : 502;
	if (!cut)
		refuse(c->rq, c->status, "internal",
		    no == ENOMEM       ? "out of memory"
			: no == EPROTO ? "the volume's server sent an answer that cannot be passed on"
				       : "the volume's server is gone",
		    c->id);
}

/* --- callbacks of the pump ----------------------------------------------------------------------------------- */

/* Only the headers listed here are passed on. The token is not: it has no use there. */
static void put_request(void *user, struct buf *out)
{
	static const char *const passed[] = { "content-type", "range", "if-range", "if-match", "if-none-match",
		"if-modified-since", "if-unmodified-since", "accept-encoding" };
	const struct content *c = user;
	const struct http_req *rq = c->rq;

	buf_str(out, rq->method);
	buf_ch(out, ' ');
	buf_str(out, rq->path);
	buf_ch(out, '?');
	buf_str(out, rq->query);
	buf_fmt(out, " HTTP/1.1\r\nHost: volume\r\nX-Request-Id: %s\r\n", c->id);
	for (size_t i = 0; i < ARRAY_LEN(passed); i++) {
		struct str value = http_header_get(&rq->headers, passed[i]);

		if (value.p)
			buf_fmt(out, "%s: %.*s\r\n", passed[i], (int)value.n, value.p);
	}
	if (rq->content_length < 0)
		buf_z(out, "Transfer-Encoding: chunked\r\n");
	else if (!str_is(rq->method, "GET") && !str_is(rq->method, "HEAD"))
		buf_fmt(out, "Content-Length: %lld\r\n", (long long)rq->content_length);
	else if (rq->content_length > 0)
		buf_fmt(out, "Content-Length: %lld\r\n", (long long)rq->content_length);
	buf_z(out, "\r\n");
}

static int put_answer(void *user, const struct http_answer *a, struct buf *out)
{
	static const char *const passed[] = { "content-type", "content-disposition", "content-encoding",
		"content-range", "accept-ranges", "last-modified", "vary" };
	struct content *c = user;

	c->status = a->status;
	for (size_t i = 0; i < ARRAY_LEN(passed); i++) {
		struct str value = http_header_get(&a->headers, passed[i]);

		if (value.p)
			buf_fmt(out, "%s: %.*s\r\n", passed[i], (int)value.n, value.p);
	}
	/* A browser that has fetched a file with its token must not find it again, as a page of this server. */
	buf_fmt(out,
	    CORS_API_HEADERS CSP_GUEST "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
				       "X-Request-Id: %s\r\n",
	    c->id);
	return 0;
}

static bool reconnect(void *user)
{
	struct content *c = user;

	drop_up(c);
	connect_up(c);
	return true;
}

static void on_end(void *user, struct stream *kept)
{
	struct content *c = user;

	drop_up(c);
	if (kept && !c->v->gone)
		upstream_put(&c->v->idle, kept, loop_now_ms(c->proxies->link->loop));
	else
		stream_close(kept);
}

static const struct pump_ops pump_ops = {
	.put_request = put_request,
	.put_answer = put_answer,
	.reconnect = reconnect,
	.on_end = on_end,
	.on_lost = on_lost,
	.splice = true,
};

/* --- connecting --------------------------------------------------------------------------------------------- */

static void on_retry(void *user)
{
	connect_up(user);
}

static void try_later(struct content *c)
{
	if (!c->retry)
		c->retry = timer_new(c->proxies->link->loop, on_retry, c);
	if (!c->retry || ++c->tries > TRIES_MAX)
		give_up(c, 503, "busy", "too many volumes are in use, try again later");
	else
		timer_arm(c->retry, RETRY_MS);
}

static void on_connected(void *user, const struct warden_reply *re)
{
	struct content *c = user;

	c->connecting = NULL;
	if (re->no == 0) {
		pump_send(&c->pump, re->fd, false);
		return;
	}
	c->counted = false;
	c->proxies->sandbox->volume_calls--;
	if (re->no == EBUSY) {
		try_later(c);
		return;
	}
	log_warn("cannot serve a volume", "request=%s volume=%s err=%s", c->id, c->v->id, re->text);
	give_up(c, re->no == ENOENT ? 404 : 503, re->no == ENOENT ? "volume_not_found" : "internal",
	    "the volume cannot be served");
}

static void connect_up(struct content *c)
{
	struct proxies *p = c->proxies;
	struct stream *idle = c->pump.reused ? NULL : upstream_take(&c->v->idle, p->link->loop);
	struct msg_name m = { 0 };

	if (!idle && volumes_conns(p->sandbox) >= CONNS_MAX) {
		volumes_make_room(p->sandbox);
		try_later(c);
		return;
	}
	p->sandbox->volume_calls++;
	c->counted = true;
	if (idle) {
		pump_send_on(&c->pump, idle, true);
		return;
	}
	memcpy(m.name, c->v->id, sizeof m.name);
	memcpy(m.request, c->id, sizeof m.request);
	c->connecting = warden_ask(p->link->warden, OP_VOLUME_CONNECT, &m, sizeof m, on_connected, c);
}

/* --- a request ---------------------------------------------------------------------------------------------- */

static void on_body(struct http_req *rq, struct str data)
{
	struct content *c = rq->user;

	pump_body(&c->pump, data);
}

static void on_body_moved(struct http_req *rq, size_t n)
{
	struct content *c = rq->user;

	pump_body_moved(&c->pump, n);
}

static void on_body_end(struct http_req *rq)
{
	struct content *c = rq->user;

	pump_body_end(&c->pump);
}

static void on_drain(struct http_req *rq)
{
	struct content *c = rq->user;

	pump_drain(&c->pump);
}

static void on_close(struct http_req *rq, bool is_lost)
{
	struct content *c = rq->user;

	log_info("volume content", "request=%s volume=%s method=%s status=%d ms=%.1f up=%llu down=%llu%s", c->id,
	    c->v ? c->v->id : "none", c->method, c->status, (double)(clock_mono_us() - c->began_us) / 1000,
	    (unsigned long long)c->pump.up, (unsigned long long)c->pump.down, is_lost ? " lost=1" : "");
	pump_done(&c->pump, is_lost);
	drop_up(c);
	links_request_over(c->proxies->link);
	volume_unref(c->v);
	free(c);
}

static const struct http_req_ops down_ops = { .on_body = on_body,
	.on_body_moved = on_body_moved,
	.on_body_end = on_body_end,
	.on_drain = on_drain,
	.on_close = on_close };

/* The volume that the request is for and may access; NULL: it was refused. */
static struct volume *check(struct content *c)
{
	struct str rest = c->rq->path, bearer = http_header_get(&c->rq->headers, "authorization");
	struct str scheme = str_cut(&bearer, ' ');

	(void)str_cut(&rest, '/');
	(void)str_cut(&rest, '/');
	struct volume *v = volume_by_id(c->proxies->sandbox, str_cut(&rest, '/'));
	const struct team *t = v ? keyring_team(c->proxies->account->keyring, str_of(v->team)) : NULL;

	if (!str_ieq(scheme, STR_LIT("bearer")) || !bearer.p)
		give_up(c, 401, "unauthenticated", "no volume token: send it in the header Authorization, as Bearer");
	/* the same answer, so that nobody can find out which volumes exist */
	else if (!v || !secret_eq(str_trim(bearer), str_of(v->token)))
		give_up(c, 401, "unauthenticated", "the token is not that of this volume");
	else if (!t || t->blocked)
		give_up(c, 403, "forbidden", "team is blocked");
	else
		return v;
	return NULL;
}

void volume_content_begin(struct proxies *p, struct http_req *rq)
{
	struct content *c;

	if (str_is(rq->method, "OPTIONS")) {
		cors_preflight_api(rq);
		return;
	}
	c = must_alloc(sizeof *c);
	c->proxies = p;
	c->rq = rq;
	c->began_us = clock_mono_us();
	(void)str_copy(c->method, sizeof c->method, rq->method);
	request_id(rq, c->id);
	rq->ops = &down_ops;
	rq->user = c;
	links_request_begun(p->link);
	struct volume *v = check(c);

	if (!v)
		return;
	c->v = volume_ref(v);
	pump_init(&c->pump, p->link->loop, rq, &v->share, &pump_ops, c);
	connect_up(c);
}
