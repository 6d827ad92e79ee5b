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
#include "front/account/keyring.h"
#include "front/account/metrics.h"
#include "front/account/quota.h"
#include "front/api/request.h"
#include "front/front.h"
#include "front/link/dial.h"
#include "front/link/dial_tls.h"
#include "front/link/warden_link.h"
#include "front/proxy/error.h"
#include "front/proxy/head.h"
#include "front/proxy/route.h"
#include "front/proxy/tunnel.h"
#include "front/record/witness.h"
#include "front/sandbox/sandbox.h"
#include "front/util/cors.h"
#include "front/util/mem.h"
#include "front/util/request_id.h"
#include "http/call.h"
#include "http/server.h"
#include "loop/loop.h"
#include "loop/stream.h"

#define HEAD_MAX (HTTP_HEAD_MAX + 4096)
#define EARLY_MAX (1024 * 1024)
#define AUTO_RESUME_MIN_S 300
#define CONNECT_TRIES 10 /* init's queue of connections may be full for a moment */
#define CONNECT_RETRY_MS 20
#define PORT_TRIES 5      /* a server that was just started may not listen yet: */
#define PORT_RETRY_MS 100 /* once, twice, ... as long between two tries */

struct exchange {
	struct front *front;
	struct http_req *rq;
	struct sandbox *sb;
	struct witness *witness; /* or NULL */
	uint16_t port;
	struct sandbox_link link;     /* while connected or connecting */
	struct sandbox_waiter waiter; /* until it runs */
	bool waiting;
	struct warden_call *connecting; /* to init */
	struct dial *dial;              /* ... or to a port of the user, */
	struct dial_tls *dial_tls;      /* ... which may speak HTTPS */
	struct timer *retry;
	unsigned tries;
	unsigned port_tries;
	struct http_call *call;
	bool reused; /* the call's connection has served another request before */
	bool head_sent;
	bool body_sent; /* some of the body has gone up: no second try */
	bool body_ended;
	bool woke; /* has tried to resume the sandbox */
	bool answered;
	bool is_use;   /* counts as activity */
	bool is_guest; /* content of a sandbox, with the origin of the API */
	int status;    /* for the log */
	uint64_t began_us;
	uint64_t up, down; /* bytes of the bodies */
	char method[16];
	char *path; /* without the query */
	char id[REQUEST_ID_SIZE];
};

static void connect_up(struct exchange *ex);
static const struct http_call_ops up_ops;

static struct str sandbox_id(const struct exchange *ex)
{
	return str_of(ex->sb->id);
}

/* Lets go of everything on the sandbox's side. */
static void drop_up(struct exchange *ex)
{
	sandbox_detach(&ex->link);
	warden_cancel(take_ptr(&ex->connecting));
	dial_free(take_ptr(&ex->dial));
	dial_tls_free(take_ptr(&ex->dial_tls));
	http_call_free(take_ptr(&ex->call));
	ex->head_sent = false;
	timer_free(take_ptr(&ex->retry));
	if (ex->waiting)
		LIST_REMOVE(&ex->waiter, link);
	ex->waiting = false;
}

/* The way into the sandbox is broken. */
static void up_lost(struct exchange *ex)
{
	drop_up(ex);
	ex->status = 502;
	witness_end(ex->witness, WITNESS_BROKE);
	if (http_started(ex->rq))
		http_abort(ex->rq);
	else
		proxy_not_found(ex->rq, sandbox_id(ex), ex->port);
}

/* The sandbox may be well: it is the server that cannot get there. Nothing of the request was done. */
static void unreachable(struct exchange *ex)
{
	drop_up(ex);
	ex->status = 503;
	witness_end(ex->witness, WITNESS_BROKE);
	proxy_refuse(ex->rq, 503, sandbox_id(ex), ex->port,
	    "The server cannot reach its sandboxes at the moment. Nothing was done; try again later");
}

static void on_broken(struct sandbox_link *l, struct sandbox *sb)
{
	struct exchange *ex = container_of(l, struct exchange, link);

	(void)sb;
	http_call_reset(take_ptr(&ex->call)); /* it may be about to be frozen, and nothing may be on its way then */
	up_lost(ex);
}

/* --- up: the client's request --- */

static void slow_body_down(struct exchange *ex)
{
	if (http_call_queued(ex->call) > STREAM_HIGH)
		http_body_want(ex->rq, false);
}

static void on_body(struct http_req *rq, struct str data)
{
	struct exchange *ex = rq->user;
	char size[24];

	if (!ex->call)
		return; /* answered or broken already */
	ex->body_sent = true;
	ex->up += data.n;
	witness_body(ex->witness, data);
	if (rq->content_length < 0) {
		int n = snprintf(size, sizeof size, "%zx\r\n", data.n);

		http_call_writev(ex->call, (struct str[]) { { size, (size_t)n }, data, STR_LIT("\r\n") }, 3);
	} else {
		http_call_write(ex->call, data);
		if (!witness_reads_body(ex->witness))
			http_body_splice(rq, http_call_stream(ex->call));
	}
	slow_body_down(ex);
}

static void on_body_moved(struct http_req *rq, size_t n)
{
	struct exchange *ex = rq->user;

	ex->up += n;
	witness_body_moved(ex->witness, n);
}

static void finish_body(struct exchange *ex)
{
	if (ex->rq->content_length < 0)
		http_call_write(ex->call, STR_LIT("0\r\n\r\n"));
}

static void on_body_end(struct http_req *rq)
{
	struct exchange *ex = rq->user;

	ex->body_ended = true;
	witness_body_end(ex->witness);
	if (ex->call && ex->head_sent)
		finish_body(ex);
}

static void on_up_drain(void *user)
{
	struct exchange *ex = user;

	http_body_want(ex->rq, true);
}

static void send_request(struct exchange *ex, struct http_call *call)
{
	autobuf struct buf head = BUF_INIT(HEAD_MAX);

	proxy_put_request(&head, ex->rq, ex->port, ex->sb->spec.mask_host, ex->id);
	ex->call = call;
	if (!ex->call || head.bad) {
		up_lost(ex);
		return;
	}
	stream_share(http_call_stream(ex->call), &ex->sb->share);
	http_call_head(ex->call, buf_view(&head), str_is(ex->rq->method, "HEAD"), false);
	ex->head_sent = true;
	if (ex->body_ended)
		finish_body(ex);
	http_body_want(ex->rq, true);
}

static void send_on_fd(struct exchange *ex, int fd)
{
	send_request(ex, http_call_new(ex->front->link.loop, fd, &up_ops, ex));
}

/* --- down: the sandbox's answer --- */

static void on_down_drain(struct http_req *rq)
{
	struct exchange *ex = rq->user;

	if (ex->call)
		http_call_read(ex->call, true);
}

/* As of requests that are under way (proxy.c): one sandbox leaves as many to the others as it has. */
static bool has_all_tunnels(const struct sandbox *sb)
{
	uint32_t most = links_max_tunnels(&sb->front->link), all = sb->front->proxy.tunnels;

	return all >= most || sb->tunnels >= most - all;
}

static void switch_to_tunnel(struct exchange *ex, const struct http_answer *a)
{
	autobuf struct buf head = BUF_INIT(HEAD_MAX);
	autobuf struct buf early_port = BUF_INIT(EARLY_MAX);
	autobuf struct buf early_client = BUF_INIT(EARLY_MAX);
	struct stream *client, *port;

	if (has_all_tunnels(ex->sb)) {
		drop_up(ex);
		proxy_refuse(ex->rq, 429, sandbox_id(ex), ex->port, "Too many upgraded connections");
		return;
	}
	proxy_put_upgrade(&head, a);

	port = http_call_take(take_ptr(&ex->call), &early_port);
	if (!port || head.bad || early_port.bad || http_hijack(ex->rq, buf_view(&head), &client, &early_client) < 0) {
		stream_close(port);
		up_lost(ex);
		return;
	}
	sandbox_detach(&ex->link);
	tunnel_begin(ex->sb, client, buf_view(&early_client), port, buf_view(&early_port));
}

static void slow_answer_down(struct exchange *ex)
{
	if (ex->call && http_queued(ex->rq) > STREAM_HIGH)
		http_call_read(ex->call, false);
}

static void on_answer(void *user, const struct http_answer *a)
{
	struct exchange *ex = user;
	autobuf struct buf lines = BUF_INIT(HEAD_MAX);

	ex->answered = true;
	ex->status = a->status;
	if (a->upgrade) {
		if (ex->rq->upgrade && !proxy_port_is_ours(ex->port))
			switch_to_tunnel(ex, a);
		else
			up_lost(ex); /* nobody asked for it */
		return;
	}
	proxy_put_answer(&lines, a, ex->port);
	if (proxy_port_is_ours(ex->port))
		buf_fmt(&lines, "X-Request-Id: %s\r\n", ex->id);
	if (ex->is_guest)
		buf_z(&lines, CSP_GUEST);
	witness_answer(ex->witness, a->status, a->content_length);
	if (lines.bad)
		up_lost(ex);
	else
		http_begin(ex->rq, a->status, NULL, lines.n ? buf_cstr(&lines) : NULL, a->content_length);
	slow_answer_down(ex);
}

static void on_answer_data(void *user, struct str data)
{
	struct exchange *ex = user;

	ex->down += data.n;
	witness_data(ex->witness, data);
	http_write(ex->rq, data);

	uint64_t left;
	struct stream *to = witness_reads_answer(ex->witness) ? NULL : http_splice_to(ex->rq, &left);

	if (to)
		http_call_splice(ex->call, to, left);
	slow_answer_down(ex);
}

static void on_answer_moved(void *user, size_t n)
{
	struct exchange *ex = user;

	ex->down += n;
	http_moved(ex->rq, n);
}

static void on_answer_end(void *user)
{
	struct exchange *ex = user;
	bool reusable = false;
	int fd = -1;

	sandbox_detach(&ex->link);
	if (ex->body_ended && proxy_port_is_ours(ex->port))
		fd = http_call_done(take_ptr(&ex->call), &reusable);
	else
		http_call_free(take_ptr(&ex->call));
	if (fd >= 0)
		sandbox_idle_put(ex->sb, fd);
	witness_end(ex->witness, WITNESS_DONE); /* before the client knows */
	http_end(ex->rq);
}

static void on_up_error(void *user, int no)
{
	struct exchange *ex = user;

	/* An idle connection that init closed in this very moment: nothing of the request was done. */
	if (ex->reused && !ex->answered && !ex->body_sent && ex->sb->state == SANDBOX_RUNNING) {
		drop_up(ex);
		http_body_want(ex->rq, false);
		connect_up(ex);
		return;
	}
	log_debug("lost the connection to a sandbox", "request=%s id=%s port=%u errno=%d", ex->id, ex->sb->id, ex->port,
	    no);
	up_lost(ex);
}

static const struct http_call_ops up_ops = {
	.on_answer = on_answer,
	.on_data = on_answer_data,
	.on_moved = on_answer_moved,
	.on_end = on_answer_end,
	.on_drain = on_up_drain,
	.on_error = on_up_error,
};

/* --- connecting --- */

static void on_retry(void *user)
{
	connect_up(user);
}

/* While it waits the sandbox may end: the link tells. */
static bool retry_after(struct exchange *ex, uint64_t ms)
{
	if (!ex->retry)
		ex->retry = timer_new(ex->front->link.loop, on_retry, ex);
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
		send_request(ex, http_call_on(ex->front->link.loop, s, &up_ops, ex));
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
		ex->dial_tls = dial_tls_new(ex->front->link.loop, re->fd, on_secured, ex);
		if (!ex->dial_tls)
			up_lost(ex);
	} else if (re->no == 0) {
		send_on_fd(ex, re->fd);
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
	if (re->no == 0) {
		ex->reused = false;
		send_on_fd(ex, re->fd);
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

static void connect_up(struct exchange *ex)
{
	if (!ex->link.hooked)
		sandbox_attach(ex->sb, &ex->link);
	if (!proxy_port_is_ours(ex->port) && !warden_silent(ex->front->link.warden)) {
		ex->dial = dial_new(&ex->front->link, ex->sb->id, ex->port, ex->id, on_dialed, ex);
		return;
	}
	int fd = ex->reused || !proxy_port_is_ours(ex->port) ? -1 : sandbox_idle_take(ex->sb);

	ex->reused = fd >= 0;
	if (fd >= 0)
		send_on_fd(ex, fd);
	else if (warden_silent(ex->front->link.warden))
		unreachable(ex);
	else
		ex->connecting = warden_ask_id(ex->front->link.warden, OP_CONNECT, ex->sb->id, ex->id, on_connected,
		    ex);
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

/* A blocked team makes nothing run, by whatever way. */
static bool may_resume(const struct sandbox *sb)
{
	const struct team *t = keyring_team(sb->front->account.keyring, str_of(sb->team));
	struct quota_hit hit;

	return !(t && t->blocked) && quota_check_resume(sb->front, sb->team, sb->key, &hit) == 0;
}

static void when_running(struct exchange *ex)
{
	struct sandbox *sb = ex->sb;
	/* a boot is not what traffic is for */
	bool wakes = sb->spec.flags & SPEC_AUTO_RESUME && !(sb->kept.what & KEPT_NO_RAM);

	if (sb->state == SANDBOX_RUNNING) {
		connect_up(ex);
		if (ex->is_use && proxy_port_is_ours(ex->port))
			init_watch_use(sb);
	} else if (sb->state == SANDBOX_STARTING || sb->state == SANDBOX_RESUMING || sb->state == SANDBOX_SAVING ||
	    (sb->state == SANDBOX_PAUSING && wakes)) {
		wait_for(ex);
	} else if (sb->state == SANDBOX_PAUSED && wakes && warden_silent(ex->front->link.warden)) {
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
	struct metrics *m = ex->front->account.metrics;
	struct timed *t = &m->ports[port_kind(ex->port)];
	uint64_t us = clock_mono_us() - ex->began_us;
	char text[JOURNAL_TEXT_MAX + 1];
	autobuf struct buf seen = BUF_INIT(256);

	t->n[outcome_of(ex->status, lost)]++;
	histogram_add(&t->time, us);
	m->bytes_up += ex->up;
	m->bytes_down += ex->down;
	witness_put_log(ex->witness, &seen);
	log_info("proxied", "request=%s id=%s port=%u method=%s status=%d ms=%.1f up=%llu down=%llu%s%s", ex->id,
	    ex->sb->id, ex->port, ex->method, ex->status, (double)us / 1000, (unsigned long long)ex->up,
	    (unsigned long long)ex->down, lost ? " lost=1" : "", seen.n && !seen.bad ? buf_cstr(&seen) : "");
	if (ex->is_use)
		sandbox_use_end(ex->sb);
	(void)snprintf(text, sizeof text, "%s %s", ex->method, ex->path);
	sandbox_note(ex->sb, level_of(ex->status), JOURNAL_REQUEST, text, "port=%u status=%d ms=%llu request=%s",
	    ex->port, ex->status, (unsigned long long)(us / 1000), ex->id);
}

static void on_close(struct http_req *rq, bool lost)
{
	struct exchange *ex = rq->user;

	witness_end(ex->witness, lost ? WITNESS_LEFT : WITNESS_DONE);
	count(ex, lost);
	witness_free(ex->witness);
	drop_up(ex);
	ex->front->proxy.exchanges--;
	ex->sb->exchanges--;
	links_request_over(&ex->front->link);
	sandbox_unref(ex->sb);
	free(ex->path);
	free(ex);
}

static const struct http_req_ops down_ops = {
	.on_body = on_body,
	.on_body_moved = on_body_moved,
	.on_body_end = on_body_end,
	.on_drain = on_down_drain,
	.on_close = on_close,
};

/* Whoever only asks whether it lives does not use it. */
static bool is_probe(const struct http_req *rq, uint16_t port)
{
	return proxy_port_is_ours(port) && str_is(rq->path, "/health");
}

/* Does the answer have the origin of the API for a browser? */
static bool is_on_api(const struct front *f, const struct http_req *rq)
{
	struct proxy_target t;

	return proxy_route(rq->host, http_header_get(&rq->headers, "e2b-sandbox-id"),
		   http_header_get(&rq->headers, "e2b-sandbox-port"), f->link.opt.domain, &t) == ROUTE_API;
}

void exchange_begin(struct sandbox *sb, struct http_req *rq, uint16_t port)
{
	struct exchange *ex = must_alloc(sizeof *ex);

	ex->front = sb->front;
	ex->rq = rq;
	ex->sb = sandbox_ref(sb);
	ex->port = port;
	ex->link.broken = on_broken;
	ex->began_us = clock_mono_us();
	(void)str_copy(ex->method, sizeof ex->method, rq->method);
	ex->path = must_dup_str(
	    (struct str) { rq->path.p, rq->path.n < JOURNAL_TEXT_MAX ? rq->path.n : JOURNAL_TEXT_MAX });
	ex->is_use = !is_probe(rq, port);
	ex->is_guest = port == PORT_ENVD && is_on_api(ex->front, rq);
	if (ex->is_use)
		sandbox_use_begin(sb);
	request_id(rq, ex->id);
	ex->witness = witness_new(sb, rq, port, ex->id);
	rq->ops = &down_ops;
	rq->user = ex;
	http_share(rq, &sb->share);
	links_request_begun(&ex->front->link);
	ex->front->proxy.exchanges++;
	sb->exchanges++;
	http_body_want(rq, false); /* until there is somebody to send it to */
	when_running(ex);
}
