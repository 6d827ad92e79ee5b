/* SPDX-License-Identifier: Apache-2.0 */
/* http/h2: one connection: parses frames, starts and ends requests, sends frames, and limits abuse. */
#include "http/h2.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "http/h2_impl.h"
#include "http/json.h"
#include "loop/loop.h"
#include "loop/stream.h"

#define SLICE (16 * 1024)                  /* bytes passed to nghttp2 at a time; the limits are checked in between */
#define HEAD_BYTES_MAX (2 * HTTP_HEAD_MAX) /* compressed size of one head on the wire */
#define CONN_WINDOW (4 * 1024 * 1024)      /* of the whole connection; each body is limited by its own window */
#define BODY_MAX (2 * 1024 * 1024)         /* never reached: a window, and data in flight when it shrank */
#define FRAME_MAX (16 * 1024 + 64)
#define EARLY_MS 1000   /* a request that is reset within this time counts as reset early */
#define LINGER_MS 30000 /* limit for a body that continues after the answer */

static char batch[128 * 1024]; /* frames are gathered here for one write */

static struct h2_stream *find(struct h2 *h, int32_t id)
{
	return id > 0 ? nghttp2_session_get_stream_user_data(h->ng, id) : NULL;
}

static uint64_t now_of(const struct h2 *h)
{
	return loop_now_ms(h->c->loop);
}

void h2_wake(struct h2_stream *st)
{
	if (!st->is_awake)
		TAILQ_INSERT_TAIL(&st->h->awake, st, wake);
	st->is_awake = true;
	conn_kick(st->h->c);
}

/* The connection's cost belongs to the share of its requests. If they belong to several shares, the
 * connection has one of its own, so that none pays for the others. */
static void choose_share(struct h2 *h)
{
	struct share *sh = NULL;
	const struct h2_stream *st;

	TAILQ_FOREACH(st, &h->streams, all)
	{
		if (sh && st->member.share && st->member.share != sh) {
			sh = &h->own;
			break;
		}
		sh = st->member.share ? st->member.share : sh;
	}
	if (h->c->s)
		stream_share(h->c->s, sh);
}

void h2_share(struct h2_stream *st, struct share *sh)
{
	share_join(&st->member, sh);
	choose_share(st->h);
}

void h2_over(struct h2_stream *st, bool lost)
{
	struct h2 *h = st->h;
	struct http_conn *c = h->c;
	const struct http_req_ops *ops = st->r.pub.ops;

	st->r.over = true;
	h2_forget_body(st);
	h2_drop_answer(st);
	if (c->server)
		c->server->h2_granted -= st->granted;
	TAILQ_REMOVE(&h->streams, st, all);
	if (st->member.share)
		h2_share(st, NULL);
	if (st->is_awake)
		TAILQ_REMOVE(&h->awake, st, wake);
	if (--c->n_streams == 0) {
		c->since_ms = c->unsent_ms = now_of(h);
		if (c->server)
			server_idle(c->server, c, true);
	}
	if (ops && ops->on_close)
		ops->on_close(&st->r.pub, lost);
	buf_done(&st->in);
	free(st);
}

/* --- floods ------------------------------------------------------------------------------------------------ */

/* Sends GOAWAY once and ends everything on the connection. */
static void calm_down(struct h2 *h, const char *why)
{
	if (h->calm)
		return;
	h->ending = h->calm = true;
	log_warn("closing an HTTP/2 connection", "why='%s' requests=%zu", why, h->c->n_streams);
	(void)nghttp2_session_terminate_session(h->ng, NGHTTP2_ENHANCE_YOUR_CALM);
}

static void pay(struct h2 *h, uint32_t cost)
{
	if (!h2_guard_pay(&h->guard, now_of(h), cost))
		calm_down(h, "too many frames that lead to nothing");
}

static uint32_t reset_cost(struct h2 *h, int32_t id)
{
	const struct h2_stream *st = find(h, id);

	return st && !st->sent_head && now_of(h) - st->born_ms < EARLY_MS ? H2_COST_EARLY_RESET : H2_COST_RESET;
}

static int on_begin_frame(nghttp2_session *ng, const nghttp2_frame_hd *hd, void *user)
{
	struct h2 *h = user;

	(void)ng;
	switch (hd->type) {
	case NGHTTP2_HEADERS:
		break;
	case NGHTTP2_DATA:
		if (hd->length == 0 && !(hd->flags & NGHTTP2_FLAG_END_STREAM))
			pay(h, H2_COST_EMPTY);
		break;
	case NGHTTP2_RST_STREAM:
		pay(h, reset_cost(h, hd->stream_id));
		break;
	case NGHTTP2_SETTINGS:
		pay(h, H2_COST_SETTINGS);
		break;
	default:
		pay(h, H2_COST_CONTROL);
	}
	return 0;
}

static int on_invalid(nghttp2_session *ng, const nghttp2_frame *frame, int no, void *user)
{
	(void)ng;
	(void)frame;
	(void)no;
	pay(user, H2_COST_WRONG);
	return 0;
}

/* --- requests ---------------------------------------------------------------------------------------------- */

static int on_begin_headers(nghttp2_session *ng, const nghttp2_frame *frame, void *user)
{
	struct h2 *h = user;

	(void)ng;
	h->in_head = true;
	h->head_bytes = 0;
	h->is_trailer = frame->headers.cat != NGHTTP2_HCAT_REQUEST;
	h2_head_begin(&h->head);
	return 0;
}

static int on_header(nghttp2_session *ng, const nghttp2_frame *frame, const uint8_t *name, size_t n_name,
    const uint8_t *value, size_t n_value, uint8_t flags, void *user)
{
	struct h2 *h = user;

	(void)ng;
	(void)frame;
	(void)flags;
	if (!h->is_trailer) /* trailers are read and dropped, as in HTTP/1.x */
		h2_head_add(&h->head, (struct str) { (const char *)name, n_name },
		    (struct str) { (const char *)value, n_value });
	return 0;
}

static void refuse(struct h2_stream *st, int status, const char *why)
{
	autobuf struct buf body = BUF_INIT(1024);
	autojson json_t *j = json_pack("{s:i, s:s}", "code", status, "message", why);

	json_put(&body, j);
	http_close_after(&st->r.pub);
	http_respond(&st->r.pub, status, "application/json", NULL, buf_view(&body));
}

static struct h2_stream *request_new(struct h2 *h, int32_t id, size_t head_size)
{
	struct h2_stream *st = calloc(1, sizeof *st + head_size);

	if (!st)
		return NULL;
	st->h = h;
	st->id = id;
	st->in = BUF_INIT(BODY_MAX);
	st->out = BUF_INIT(64 * 1024 * 1024);
	st->born_ms = st->moved_ms = now_of(h);
	st->r.ops = &h2_request_ops;
	st->r.keep = st->r.want = true;
	st->r.left = -1;
	st->r.pub.conn = h->c;
	h->c->server->h2_requests++;
	TAILQ_INSERT_TAIL(&h->streams, st, all);
	if (h->c->n_streams++ == 0)
		server_idle(h->c->server, h->c, false);
	return st;
}

static int request_begin(struct h2 *h, int32_t id, bool has_body)
{
	struct h2_stream *st = request_new(h, id, h2_head_size(&h->head));

	if (!st || nghttp2_session_set_stream_user_data(h->ng, id, st) != 0) {
		if (st)
			h2_over(st, true);
		(void)nghttp2_submit_rst_stream(h->ng, NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
		return 0;
	}
	struct request *r = &st->r;
	int rc = h2_head_fill(&h->head, has_body, r->head, &r->pub);

	h2_head_done(&h->head);
	r->is_head = str_is(r->pub.method, "HEAD");
	r->expects = has_body && http_header_has_token(&r->pub.headers, "expect", "100-continue");
	st->body_eof = !has_body;
	if (rc < 0) {
		refuse(st, h->head.refuse, h->head.why);
		return 0;
	}
	h->c->server->ops->on_request(h->c->server->user, &r->pub);
	if (h->c->lost) /* the handler has freed the server */
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	h2_begin_body(st);
	h2_wake(st); /* for example to report the end of an empty body */
	return 0;
}

/* Wakes streams that waited for a window. */
static void windows_opened(struct h2 *h, int32_t id)
{
	struct h2_stream *st = find(h, id);

	if (st && st->blocked)
		h2_wake(st);
	if (id != 0)
		return;
	TAILQ_FOREACH(st, &h->streams, all)
	{
		if (st->blocked)
			h2_wake(st);
	}
}

static int on_frame(nghttp2_session *ng, const nghttp2_frame *frame, void *user)
{
	struct h2 *h = user;
	bool is_end = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
	struct h2_stream *st;

	(void)ng;
	switch (frame->hd.type) {
	case NGHTTP2_HEADERS:
		h->in_head = false;
		if (frame->headers.cat == NGHTTP2_HCAT_REQUEST)
			return h->c->server ? request_begin(h, frame->hd.stream_id, !is_end)
					    : NGHTTP2_ERR_CALLBACK_FAILURE;
		h2_head_done(&h->head);
		break;
	case NGHTTP2_DATA:
		break;
	case NGHTTP2_SETTINGS:
		windows_opened(h, 0);
		return 0;
	case NGHTTP2_WINDOW_UPDATE:
		windows_opened(h, frame->hd.stream_id);
		return 0;
	default:
		return 0;
	}
	st = is_end ? find(h, frame->hd.stream_id) : NULL;
	if (st) {
		st->body_eof = true;
		h2_wake(st);
	}
	return 0;
}

static int on_data(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *p, size_t n, void *user)
{
	struct h2 *h = user;
	struct h2_stream *st = find(h, id);

	(void)flags;
	if (st)
		h2_body(st, (struct str) { (const char *)p, n });
	else
		(void)nghttp2_session_consume(ng, id, n); /* a reset for it is already queued */
	return h->c->lost ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_sent(nghttp2_session *ng, const nghttp2_frame *frame, void *user)
{
	struct h2 *h = user;
	bool is_answer = frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS;
	struct h2_stream *st = is_answer ? find(h, frame->hd.stream_id) : NULL;

	(void)ng;
	if (st)
		st->sent_head = true;
	if (!st || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		return 0;
	st->sent_all = true;
	st->moved_ms = now_of(h);
	if (!st->body_eof && !st->r.keep)
		h2_wake(st);
	return 0;
}

static int on_stream_close(nghttp2_session *ng, int32_t id, uint32_t code, void *user)
{
	struct h2_stream *st = nghttp2_session_get_stream_user_data(ng, id);
	struct h2 *h = user;

	(void)code;
	if (st)
		h2_over(st, !st->sent_all);
	return h->c->lost ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

/* --- running ----------------------------------------------------------------------------------------------- */

static void feed(struct h2 *h, struct str data)
{
	while (data.n > 0 && !h->failed && !h->calm && !h->c->lost) {
		size_t n = data.n < SLICE ? data.n : SLICE;
		ssize_t used = nghttp2_session_mem_recv(h->ng, (const uint8_t *)data.p, n);

		if (used < 0) {
			log_debug("HTTP/2 session failed", "why='%s'", nghttp2_strerror((int)used));
			h->failed = true;
			return;
		}
		str_skip(&data, (size_t)used);
		h->head_bytes += (size_t)used;
		if (h->in_head && h->head_bytes > HEAD_BYTES_MAX)
			calm_down(h, "a head without an end");
		if (used == 0)
			return; /* it waits until its GOAWAY is sent */
	}
}

/* Builds frames while the connection accepts them; on_drain of the stream continues. */
static void pump(struct h2 *h)
{
	while (h->c->s && !h->c->lost && stream_queued(h->c->s) <= STREAM_LOW) {
		const uint8_t *p;
		ssize_t got = 1;
		size_t n = 0;

		while (got > 0 && n + FRAME_MAX <= sizeof batch) {
			got = nghttp2_session_mem_send(h->ng, &p);
			if (got < 0)
				h->failed = true;
			if (got <= 0)
				break;
			if ((size_t)got > sizeof batch - n) {
				stream_write(h->c->s, (struct str) { batch, n });
				n = 0;
			}
			if ((size_t)got > sizeof batch) { /* possibly a head */
				stream_write(h->c->s, (struct str) { (const char *)p, (size_t)got });
				continue;
			}
			memcpy(batch + n, p, (size_t)got);
			n += (size_t)got;
		}
		if (h->c->s && n > 0)
			stream_write(h->c->s, (struct str) { batch, n });
		if (got <= 0)
			return;
	}
}

static void steps(struct h2 *h)
{
	struct h2_stream *st;

	while (!h->c->lost && (st = TAILQ_FIRST(&h->awake))) {
		TAILQ_REMOVE(&h->awake, st, wake);
		st->is_awake = false;
		h2_step(st);
	}
}

/* All callbacks of handlers are made in here. */
static void h2_run(struct h2 *h, struct str data)
{
	struct http_conn *c = h->c;

	c->running = true;
	feed(h, data);
	h2_flush_body();
	do {
		steps(h);
		pump(h);
	} while (!c->lost && !TAILQ_EMPTY(&h->awake));
	c->running = false;
	bool is_over = !nghttp2_session_want_read(h->ng) && !nghttp2_session_want_write(h->ng);

	if (c->lost || (h->failed && !c->s)) {
		conn_lost(c);
	} else if (h->failed || is_over) {
		conn_finish(c);
	} else {
		c->in_head = h->in_head;
		/* A peer that does not read its answers is not read from. */
		stream_read(c->s, stream_queued(c->s) <= STREAM_HIGH);
	}
}

static void h2_stop(struct h2 *h)
{
	if (h->ending)
		return;
	h->ending = true;
	(void)nghttp2_submit_goaway(h->ng, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(h->ng),
	    NGHTTP2_NO_ERROR, NULL, 0);
	conn_kick(h->c);
}

static void h2_lost(struct h2 *h)
{
	struct h2_stream *st;

	h->c->lost = true;
	while ((st = TAILQ_FIRST(&h->streams)))
		h2_over(st, !st->sent_all);
	nghttp2_session_del(h->ng);
	h2_head_done(&h->head);
	share_done(&h->own);
	free(h);
}

/* Under memory pressure, resets streams whose peer has read nothing for long. At any time, ends streams whose peer
 * keeps sending a body that is not wanted. */
static void h2_sweep(struct h2 *h, uint64_t now_ms)
{
	bool pressed = h->c->server && h->c->server->h2_held > H2_HELD_MAX / 2;
	struct h2_stream *st;

	TAILQ_FOREACH(st, &h->streams, all)
	{
		if (pressed && h2_held(st) > 0 && now_ms - st->moved_ms > H2_STALL_MS)
			http_abort(&st->r.pub);
		if (st->sent_all && !st->body_eof && now_ms - st->moved_ms > LINGER_MS) {
			st->r.keep = false;
			h2_wake(st);
		}
	}
}

/* --- opening ----------------------------------------------------------------------------------------------- */

static nghttp2_session_callbacks *callbacks(void)
{
	static nghttp2_session_callbacks *cb;

	if (cb || nghttp2_session_callbacks_new(&cb) != 0)
		return cb;
	nghttp2_session_callbacks_set_on_begin_frame_callback(cb, on_begin_frame);
	nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(cb, on_invalid);
	nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
	nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_sent);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
	return cb;
}

static nghttp2_option *options(void)
{
	static nghttp2_option *opt;

	if (opt || nghttp2_option_new(&opt) != 0)
		return opt;
	/* windows are opened when bytes are consumed, not when they arrive */
	nghttp2_option_set_no_auto_window_update(opt, 1);
	nghttp2_option_set_no_closed_streams(opt, 1);
	nghttp2_option_set_max_outbound_ack(opt, 256);
	nghttp2_option_set_max_settings(opt, 16);
	return opt;
}

static struct h2 *h2_open(struct http_conn *c)
{
	static const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, H2_STREAMS_MAX },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HTTP_HEAD_MAX },
		{ NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1 },
	};
	struct h2 *h = calloc(1, sizeof *h);

	if (!h || !callbacks() || !options() || nghttp2_session_server_new2(&h->ng, callbacks(), h, options()) != 0) {
		free(h);
		return NULL;
	}
	h->c = c;
	TAILQ_INIT(&h->streams);
	TAILQ_INIT(&h->awake);
	share_init(&h->own, c->loop);
	h2_guard_init(&h->guard, now_of(h));
	if (nghttp2_submit_settings(h->ng, NGHTTP2_FLAG_NONE, settings, ARRAY_LEN(settings)) != 0 ||
	    nghttp2_session_set_local_window_size(h->ng, NGHTTP2_FLAG_NONE, 0, CONN_WINDOW) != 0) {
		nghttp2_session_del(h->ng);
		free(h);
		return NULL;
	}
	conn_kick(c);
	return h;
}

void http_server_h2(struct http_server *s)
{
	static const struct h2_ops ops = { .open = h2_open,
		.run = h2_run,
		.sweep = h2_sweep,
		.stop = h2_stop,
		.lost = h2_lost };

	s->h2 = &ops;
}
