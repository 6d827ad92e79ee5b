/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/exchange: streaming a request into a sandbox and its answer out of it. */
#include "front/proxy/exchange.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/account/accounts.h"
#include "front/account/keyring.h"
#include "front/account/metrics.h"
#include "front/account/quota.h"
#include "front/link/dial.h"
#include "front/link/dial_tls.h"
#include "front/link/links.h"
#include "front/link/warden_link.h"
#include "front/proxy/error.h"
#include "front/proxy/head.h"
#include "front/proxy/lane.h"
#include "front/proxy/proxies.h"
#include "front/proxy/route.h"
#include "front/proxy/tunnel.h"
#include "front/record/witness.h"
#include "front/sandbox/facts.h"
#include "front/sandbox/init_watch.h"
#include "front/sandbox/pause.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/util/cors.h"
#include "front/util/envd.h"
#include "front/util/mem.h"
#include "front/util/request_id.h"
#include "http/call.h"
#include "http/pump.h"
#include "http/server.h"
#include "loop/loop.h"
#include "loop/stream.h"

#define HEAD_MAX (HTTP_HEAD_MAX + 4096)
#define EARLY_MAX (1024 * 1024)
#define AUTO_RESUME_MIN_S 300
#define CONNECT_TRIES 10 /* the listen queue of init may be full for a moment */
#define CONNECT_RETRY_MS 20
#define PORT_TRIES 5      /* a server that was just started may not listen yet */
#define PORT_RETRY_MS 100 /* multiplied by the number of the attempt */

struct exchange {
	struct proxies *proxies;
	struct http_req *rq;
	struct sandbox *sb;
	struct pump pump;
	struct witness *witness; /* or NULL */
	struct pump_observer observer;
	uint16_t port;
	struct sandbox_link link;     /* while connected or connecting */
	struct sandbox_waiter waiter; /* until the sandbox runs */
	bool waiting;
	struct warden_call *connecting; /* connecting to init, */
	struct lane_ask *asking;        /* the same in another thread, */
	struct dial *dial;              /* or to a port of the user, */
	struct dial_tls *dial_tls;      /* which may speak HTTPS */
	struct timer *retry;
	unsigned tries;
	unsigned port_tries;
	bool woke;       /* has tried to resume the sandbox */
	bool is_use;     /* counts as activity */
	bool is_guest;   /* content of a sandbox under the origin of the API */
	bool by_headers; /* and only the headers of the request name the sandbox */
	int status;      /* for the log */
	uint64_t began_us;
	char method[16];
	char *path; /* without the query */
	char id[REQUEST_ID_SIZE];
};

static void connect_up(struct exchange *ex);

static struct str sandbox_id(const struct exchange *ex)
{
	return str_of(ex->sb->id);
}

/* Closes everything on the sandbox's side. */
static void drop_up(struct exchange *ex)
{
	sandbox_detach(&ex->link);
	warden_cancel(take_ptr(&ex->connecting));
	lane_cancel(take_ptr(&ex->asking));
	dial_free(take_ptr(&ex->dial));
	dial_tls_free(take_ptr(&ex->dial_tls));
	pump_drop(&ex->pump);
	timer_free(take_ptr(&ex->retry));
	if (ex->waiting)
		LIST_REMOVE(&ex->waiter, link);
	ex->waiting = false;
}

/* The connection into the sandbox is lost or could not be made. */
static void up_lost(struct exchange *ex)
{
	pump_lose(&ex->pump, ENOTCONN);
}

/* The sandbox may be fine, but the server cannot reach it. The request had no effect. */
static void unreachable(struct exchange *ex)
{
	pump_lose(&ex->pump, EHOSTDOWN);
}

static void on_lost(void *user, int no, bool cut)
{
	struct exchange *ex = user;

	drop_up(ex);
	log_debug("lost the connection to a sandbox", "request=%s id=%s port=%u errno=%d", ex->id, ex->sb->id, ex->port,
	    no);
	ex->status = no == EHOSTDOWN ? 503 : 502;
	if (cut)
		return;
	if (no == EHOSTDOWN)
		proxy_refuse(ex->rq, 503, sandbox_id(ex), ex->port,
		    "The server cannot reach its sandboxes at the moment. Nothing was done; try again later");
	else
		proxy_not_found(ex->rq, sandbox_id(ex), ex->port);
}

static void on_broken(struct sandbox_link *l, struct sandbox *sb)
{
	struct exchange *ex = container_of(l, struct exchange, link);

	(void)sb;
	pump_reset(&ex->pump); /* the sandbox may be about to be frozen, and no data may be in flight then */
	up_lost(ex);
}

/* --- callbacks of the pump --- */

static void put_request(void *user, struct buf *out)
{
	struct exchange *ex = user;

	proxy_put_request(out, ex->rq, ex->port, ex->sb->spec.mask_host, ex->id);
}

static int put_answer(void *user, const struct http_answer *a, struct buf *out)
{
	struct exchange *ex = user;

	ex->status = a->status;
	proxy_put_answer(out, a, ex->port, ex->by_headers);
	if (port_is_ours(ex->port))
		buf_fmt(out, "X-Request-Id: %s\r\n", ex->id);
	if (ex->is_guest)
		buf_z(out, CSP_GUEST);
	return 0;
}

/* As for requests in progress (proxy.c): one sandbox may use at most as many as are left for the others. */
static bool has_all_tunnels(const struct exchange *ex)
{
	uint32_t most = links_max_tunnels(ex->proxies->link), all = ex->proxies->tunnels;

	return all >= most || ex->sb->tunnels >= most - all;
}

static void on_upgrade(void *user, const struct http_answer *a)
{
	struct exchange *ex = user;
	autobuf struct buf head = BUF_INIT(HEAD_MAX);
	autobuf struct buf early_port = BUF_INIT(EARLY_MAX);
	autobuf struct buf early_client = BUF_INIT(EARLY_MAX);
	struct stream *client, *port;

	ex->status = a->status;
	proxy_put_upgrade(&head, a);
	if (port_is_ours(ex->port) || head.bad) {
		up_lost(ex); /* init supports no upgrade */
		return;
	}
	if (has_all_tunnels(ex)) {
		drop_up(ex);
		proxy_refuse(ex->rq, 429, sandbox_id(ex), ex->port, "Too many upgraded connections");
		return;
	}
	if (pump_take(&ex->pump, buf_view(&head), &client, &early_client, &port, &early_port) < 0)
		return;
	sandbox_detach(&ex->link);
	tunnel_begin(ex->proxies, ex->sb, client, buf_view(&early_client), port, buf_view(&early_port));
}

static bool reconnect(void *user)
{
	struct exchange *ex = user;

	if (ex->sb->state != SANDBOX_RUNNING)
		return false;
	drop_up(ex);
	connect_up(ex);
	return true;
}

static void on_end(void *user, struct stream *kept)
{
	struct exchange *ex = user;

	sandbox_detach(&ex->link);
	if (kept && port_is_ours(ex->port))
		sandbox_idle_put(ex->sb, kept);
	else
		stream_close(kept);
}

static const struct pump_ops pump_ops = {
	.put_request = put_request,
	.put_answer = put_answer,
	.on_upgrade = on_upgrade,
	.reconnect = reconnect,
	.on_end = on_end,
	.on_lost = on_lost,
	.splice = true,
};

/* --- connecting --- */

static void on_retry(void *user)
{
	connect_up(user);
}

/* If the sandbox ends meanwhile, the sandbox_link reports it. */
static bool retry_after(struct exchange *ex, uint64_t ms)
{
	if (!ex->retry)
		ex->retry = timer_new(ex->proxies->link->loop, on_retry, ex);
	if (!ex->retry)
		return false;
	if (!ex->link.hooked)
		sandbox_attach(ex->sb, &ex->link);
	timer_arm(ex->retry, ms);
	return true;
}

static void port_is_closed(struct exchange *ex)
{
	if (++ex->port_tries < PORT_TRIES && retry_after(ex, ex->port_tries * PORT_RETRY_MS))
		return;
	ex->status = 502;
	proxy_port_closed(ex->rq, sandbox_id(ex), ex->port);
}

static void on_secured(void *user, struct stream *s)
{
	struct exchange *ex = user;

	ex->dial_tls = NULL;
	if (s) {
		pump_send_on(&ex->pump, s, false);
		return;
	}
	drop_up(ex);
	ex->status = 502;
	proxy_refuse(ex->rq, 502, sandbox_id(ex), ex->port, "The sandbox is running but port does not speak HTTPS");
}

static void on_dialed(void *user, const struct dial_result *re)
{
	struct exchange *ex = user;

	ex->dial = NULL;
	if (re->no == 0 && spec_is_https(&ex->sb->spec, ex->port)) {
		ex->dial_tls = dial_tls_new(ex->proxies->link->loop, re->fd, on_secured, ex);
		if (!ex->dial_tls)
			up_lost(ex);
	} else if (re->no == 0) {
		pump_send(&ex->pump, re->fd, false);
	} else if (re->no == ECONNREFUSED) {
		drop_up(ex);
		port_is_closed(ex);
	} else if (re->no == EHOSTDOWN) {
		unreachable(ex);
	} else {
		log_warn("cannot connect to a sandbox", "request=%s id=%s port=%u err=%s", ex->id, ex->sb->id, ex->port,
		    re->text);
		up_lost(ex);
	}
}

static void on_connected(void *user, const struct warden_reply *re)
{
	struct exchange *ex = user;

	ex->connecting = NULL;
	ex->asking = NULL;
	if (re->no == 0) {
		pump_send(&ex->pump, re->fd, false);
		return;
	}
	if (re->no == EHOSTDOWN) {
		unreachable(ex);
		return;
	}
	if ((re->no == EAGAIN || re->no == ECONNREFUSED) && ++ex->tries < CONNECT_TRIES &&
	    retry_after(ex, CONNECT_RETRY_MS))
		return;
	log_warn("cannot connect to a sandbox", "request=%s id=%s err=%s", ex->id, ex->sb->id, re->text);
	up_lost(ex);
}

/* Another thread cannot know: the main one tells it when it asks for a connection. */
static bool is_warden_silent(const struct exchange *ex)
{
	const struct warden_link *w = ex->proxies->link->warden;

	return w && warden_silent(w);
}

static void connect_up(struct exchange *ex)
{
	if (!ex->link.hooked)
		sandbox_attach(ex->sb, &ex->link);
	if (!port_is_ours(ex->port) && !is_warden_silent(ex)) {
		ex->dial = dial_new(ex->proxies->link, ex->sb->id, ex->port, ex->id, on_dialed, ex);
		return;
	}
	struct stream *idle = ex->pump.reused || !port_is_ours(ex->port) ? NULL : sandbox_idle_take(ex->sb);

	if (idle)
		pump_send_on(&ex->pump, idle, true);
	else if (is_warden_silent(ex))
		unreachable(ex);
	else if (ex->proxies->lane)
		ex->asking = lane_connect(ex->proxies->lane, ex->sb, ex->id, on_connected, ex);
	else
		ex->connecting = box_connect(&ex->sb->box, ex->id, on_connected, ex);
}

/* --- until the sandbox runs --- */

static void when_running(struct exchange *ex);

static void on_settled(struct sandbox_waiter *w, struct sandbox *sb)
{
	struct exchange *ex = container_of(w, struct exchange, waiter);

	(void)sb;
	ex->waiting = false;
	when_running(ex);
}

static void wait_for(struct exchange *ex)
{
	ex->waiter.fn = on_settled;
	ex->waiting = true;
	sandbox_wait(ex->sb, &ex->waiter);
}

/* Nothing of a blocked team may be resumed, in whatever way. */
static bool may_resume(const struct sandbox *sb)
{
	const struct team *t = keyring_team(sb->all->account->keyring, str_of(sb->team));
	struct quota_hit hit;

	return !(t && t->blocked) && quota_check_resume(sb->all->account, sb->team, sb->key, &hit) == 0;
}

static void when_running(struct exchange *ex)
{
	struct sandbox *sb = ex->sb;
	/* traffic restores memory, but does not boot a sandbox */
	bool wakes = sb->spec.flags & SPEC_AUTO_RESUME && !(sb->saved.what & SAVED_NO_RAM);

	if (sb->state == SANDBOX_RUNNING) {
		connect_up(ex);
		if (ex->is_use && port_is_ours(ex->port))
			init_watch_use(sb);
	} else if (sb->state == SANDBOX_STARTING || sb->state == SANDBOX_RESUMING || sb->state == SANDBOX_SAVING ||
	    (sb->state == SANDBOX_PAUSING && wakes)) {
		wait_for(ex);
	} else if (sb->state == SANDBOX_PAUSED && wakes && is_warden_silent(ex)) {
		unreachable(ex);
	} else if (sb->state == SANDBOX_PAUSED && wakes && !ex->woke && may_resume(sb)) {
		ex->woke = true;
		wait_for(ex);
		sandbox_by(sb, ex->id);
		sandbox_resume(sb, sb->spec.timeout_s > AUTO_RESUME_MIN_S ? sb->spec.timeout_s : AUTO_RESUME_MIN_S,
		    true);
	} else {
		up_lost(ex);
	}
}

static enum log_level level_of(int status)
{
	return status >= 500 ? LOG_LVL_ERROR : status >= 400 ? LOG_LVL_WARN : LOG_LVL_INFO;
}

static void count(struct exchange *ex, bool lost)
{
	struct metrics *m = ex->proxies->account->metrics;
	struct timed *t = &m->ports[port_kind(ex->port)];
	uint64_t us = clock_mono_us() - ex->began_us;
	char text[JOURNAL_TEXT_MAX + 1];
	autobuf struct buf seen = BUF_INIT(256);

	t->n[outcome_of(ex->status, lost)]++;
	histogram_add(&t->time, us);
	m->bytes_up += ex->pump.up;
	m->bytes_down += ex->pump.down;
	witness_put_log(ex->witness, &seen);
	log_info("proxied", "request=%s id=%s port=%u method=%s status=%d ms=%.1f up=%llu down=%llu%s%s", ex->id,
	    ex->sb->id, ex->port, ex->method, ex->status, (double)us / 1000, (unsigned long long)ex->pump.up,
	    (unsigned long long)ex->pump.down, lost ? " lost=1" : "", seen.n && !seen.bad ? buf_cstr(&seen) : "");
	if (ex->is_use)
		sandbox_use_end(ex->sb);
	(void)snprintf(text, sizeof text, "%s %s", ex->method, ex->path);
	sandbox_note(ex->sb, level_of(ex->status), JOURNAL_REQUEST, text, "port=%u status=%d ms=%llu request=%s",
	    ex->port, ex->status, (unsigned long long)(us / 1000), ex->id);
}

/* --- the client's request --- */

static void on_body(struct http_req *rq, struct str data)
{
	struct exchange *ex = rq->user;

	pump_body(&ex->pump, data);
}

static void on_body_moved(struct http_req *rq, size_t n)
{
	struct exchange *ex = rq->user;

	pump_body_moved(&ex->pump, n);
}

static void on_body_end(struct http_req *rq)
{
	struct exchange *ex = rq->user;

	pump_body_end(&ex->pump);
}

static void on_drain(struct http_req *rq)
{
	struct exchange *ex = rq->user;

	pump_drain(&ex->pump);
}

static void on_close(struct http_req *rq, bool lost)
{
	struct exchange *ex = rq->user;

	pump_done(&ex->pump, lost);
	count(ex, lost);
	witness_free(ex->witness);
	drop_up(ex);
	ex->proxies->exchanges--;
	ex->sb->exchanges--;
	links_request_over(ex->proxies->link);
	sandbox_unref(ex->sb);
	free(ex->path);
	free(ex);
}

static const struct http_req_ops down_ops = {
	.on_body = on_body,
	.on_body_moved = on_body_moved,
	.on_body_end = on_body_end,
	.on_drain = on_drain,
	.on_close = on_close,
};

/* A health check is no use of the sandbox. */
static bool is_probe(const struct http_req *rq, uint16_t port)
{
	return port_is_ours(port) && str_is(rq->path, "/health");
}

/* Whether a browser sees the answer under the origin of the API, and what it may store of it. A page that fetches a
 * file with the headers must not find it again, as a page or a script, at the same URL without them. */
static void see_origin(struct exchange *ex)
{
	const struct http_req *rq = ex->rq;
	struct proxy_target t;
	enum proxy_route to = proxy_route(rq->host, http_header_get(&rq->headers, "e2b-sandbox-id"),
	    http_header_get(&rq->headers, "e2b-sandbox-port"), ex->proxies->link->opt.domain, &t);

	ex->by_headers = to == ROUTE_PORT && t.by_headers;
	ex->is_guest = ex->by_headers || (to == ROUTE_API && ex->port == PORT_ENVD);
}

void exchange_begin(struct proxies *p, struct sandbox *sb, struct http_req *rq, uint16_t port)
{
	struct exchange *ex = must_alloc(sizeof *ex);

	ex->proxies = p;
	ex->rq = rq;
	ex->sb = sandbox_ref(sb);
	ex->port = port;
	ex->link.broken = on_broken;
	ex->began_us = clock_mono_us();
	(void)str_copy(ex->method, sizeof ex->method, rq->method);
	ex->path = must_dup_str(
	    (struct str) { rq->path.p, rq->path.n < JOURNAL_TEXT_MAX ? rq->path.n : JOURNAL_TEXT_MAX });
	ex->is_use = !is_probe(rq, port);
	see_origin(ex);
	if (ex->is_use)
		sandbox_use_begin(sb);
	request_id(rq, ex->id);
	rq->ops = &down_ops;
	rq->user = ex;
	pump_init(&ex->pump, ex->proxies->link->loop, rq, &sb->share, &pump_ops, ex);

	const struct sandbox_facts of = sandbox_facts(sb);

	ex->witness = witness_new(ex->proxies->record, &of, sandbox_secrets(sb), rq, port, ex->id);
	ex->observer = (struct pump_observer) { .ops = &witness_ops, .user = ex->witness };
	if (ex->witness)
		pump_observe(&ex->pump, &ex->observer);
	links_request_begun(ex->proxies->link);
	ex->proxies->exchanges++;
	sb->exchanges++;
	when_running(ex);
}
