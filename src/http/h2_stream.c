/* SPDX-License-Identifier: Apache-2.0 */
/* http/h2_stream: one stream: the request body and the answer. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "http/h2.h"
#include "http/h2_impl.h"
#include "loop/loop.h"
#include "loop/stream.h"

#define OUT_MAX (64 * 1024 * 1024) /* a handler that ignores http_queued() fails here */
#define OUT_KEEP (16 * 1024)       /* memory that an empty queue may keep */
#define DRAIN_MAX (1024 * 1024)    /* an unwanted body is read up to this size to let the peer finish */
#define WINDOW_LARGE (1024 * 1024) /* of a body that is being read */
#define WINDOW_SMALL 65535         /* of all others: the default of HTTP/2 */
#define FIELDS_MAX (HTTP_HEADERS_MAX + 16)

static struct h2_stream *stream_of(const struct http_req *rq)
{
	return container_of(request_of(rq), struct h2_stream, r);
}

static struct http_server *server_of(const struct h2_stream *st)
{
	return st->h->c->server;
}

/* Nothing can be sent: aborted, finished, or the connection or the server is gone. */
static bool is_mute(const struct h2_stream *st)
{
	return st->r.over || st->aborted || !st->h->c->s || !server_of(st);
}

/* --- the answer: queue ------------------------------------------------------------------------------------- */

size_t h2_held(const struct h2_stream *st)
{
	return st->out.n - st->off;
}

static void count_held(struct h2_stream *st, size_t more, size_t less)
{
	struct http_server *s = server_of(st);

	if (s)
		s->h2_held += more - less;
}

void h2_drop_answer(struct h2_stream *st)
{
	count_held(st, 0, h2_held(st));
	buf_done(&st->out);
	st->off = 0;
}

static void put(struct h2_stream *st, struct str data)
{
	if (st->off && st->off >= st->out.n / 2) {
		buf_consume(&st->out, st->off);
		st->off = 0;
	}
	if (h2_held(st) == 0)
		st->moved_ms = loop_now_ms(st->h->c->loop);
	buf_str(&st->out, data);
	if (!st->out.bad)
		count_held(st, data.n, 0);
}

/* Callback of nghttp2, which builds a frame and asks for up to n bytes. */
ssize_t h2_read_answer(nghttp2_session *ng, int32_t id, uint8_t *to, size_t n, uint32_t *flags,
    nghttp2_data_source *src, void *user)
{
	struct h2_stream *st = nghttp2_session_get_stream_user_data(ng, id);
	size_t have = st ? h2_held(st) : 0;

	(void)src;
	(void)user;
	if (!st) /* a reset for it is already queued */
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	if (have < n)
		n = have;
	if (n == 0 && !st->r.ended) {
		st->deferred = true;
		return NGHTTP2_ERR_DEFERRED;
	}
	if (n)
		memcpy(to, st->out.p + st->off, n);
	st->off += n;
	st->moved_ms = loop_now_ms(st->h->c->loop);
	count_held(st, 0, n);
	h2_guard_earn(&st->h->guard, 2 * H2_COST_CONTROL); /* the peer answers with at most two window updates */
	if (h2_held(st) == 0) {
		buf_clear(&st->out);
		st->off = 0;
		if (st->out.cap > OUT_KEEP)
			buf_done(&st->out);
		if (st->r.ended)
			*flags |= NGHTTP2_DATA_FLAG_EOF;
	}
	if (st->blocked && h2_held(st) <= STREAM_LOW)
		h2_wake(st);
	return (ssize_t)n;
}

/* While too much is queued in total, streams whose peer does not read count as full. */
static bool is_full(const struct h2_stream *st)
{
	const struct http_server *s = server_of(st);
	size_t held = h2_held(st);

	if (held > STREAM_HIGH)
		return true;
	if (!s || s->h2_held <= H2_HELD_MAX)
		return false;
	return held > 0 || nghttp2_session_get_stream_remote_window_size(st->h->ng, st->id) <= 0;
}

static size_t h2_queued(const struct http_req *rq)
{
	struct h2_stream *st = stream_of(rq);

	if (is_mute(st))
		return 0;
	size_t held = h2_held(st);

	if (!is_full(st))
		return held;
	st->blocked = true;
	return held > STREAM_HIGH ? held : STREAM_HIGH + 1;
}

/* --- the answer: head -------------------------------------------------------------------------------------- */

static bool is_framing(struct str name)
{
	static const char *const names[] = {
		"connection",
		"keep-alive",
		"proxy-connection",
		"transfer-encoding",
		"upgrade",
		"content-length",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (str_ieq(name, str_of(names[i])))
			return true;
	}
	return false;
}

static void put_field(nghttp2_nv *v, size_t *n, struct str name, struct str value)
{
	if (*n < FIELDS_MAX)
		v[(*n)++] = (nghttp2_nv) { (uint8_t *)name.p, (uint8_t *)value.p, name.n, value.n,
			NGHTTP2_NV_FLAG_NONE };
}

/* "Name: value\r\n" lines, as HTTP/1.x would send them. */
static void put_lines(nghttp2_nv *v, size_t *n, const char *headers)
{
	struct str rest = str_of(headers);

	while (rest.p && rest.n) {
		struct str value = str_cut(&rest, '\n');

		if (value.n && value.p[value.n - 1] == '\r')
			value.n--;
		struct str name = str_cut(&value, ':');
		if (value.p && !is_framing(name))
			put_field(v, n, name, str_trim(value));
	}
}

static int submit(struct h2_stream *st, int status, const char *type, const char *headers, int64_t length,
    bool has_body)
{
	const nghttp2_data_provider body = { .read_callback = h2_read_answer };
	nghttp2_nv v[FIELDS_MAX];
	char code[16], len[24];
	size_t n = 0;

	put_field(v, &n, STR_LIT(":status"), (struct str) { code, (size_t)snprintf(code, sizeof code, "%d", status) });
	if (type)
		put_field(v, &n, STR_LIT("content-type"), str_of(type));
	if (length >= 0 && status != 204 && status != 304)
		put_field(v, &n, STR_LIT("content-length"),
		    (struct str) { len, (size_t)snprintf(len, sizeof len, "%lld", (long long)length) });
	if (headers)
		put_lines(v, &n, headers);
	return nghttp2_submit_response(st->h->ng, st->id, v, n, has_body ? &body : NULL);
}

static void h2_abort(struct http_req *rq)
{
	struct h2_stream *st = stream_of(rq);

	if (st->r.over || st->aborted)
		return;
	st->aborted = true;
	if (!st->sent_all)
		(void)nghttp2_submit_rst_stream(st->h->ng, NGHTTP2_FLAG_NONE, st->id, NGHTTP2_INTERNAL_ERROR);
	h2_wake(st);
}

static bool start(struct h2_stream *st, int status, const char *type, const char *headers, int64_t length, bool whole)
{
	struct request *r = &st->r;

	r->started = true;
	r->no_body = r->is_head || status == 204 || status == 304;
	r->left = length;
	r->ended = whole && (r->no_body || length == 0);
	if (submit(st, status, type, headers, length, !r->ended) != 0) {
		h2_abort(&r->pub);
		return false;
	}
	conn_kick(st->h->c);
	return true;
}

static void h2_respond(struct http_req *rq, int status, const char *type, const char *headers, struct str body)
{
	struct h2_stream *st = stream_of(rq);

	if (st->r.started || is_mute(st))
		return;
	if (!start(st, status, type, headers, (int64_t)body.n, true) || st->r.ended)
		return;
	put(st, body);
	st->r.ended = true;
	if (st->out.bad)
		h2_abort(rq);
}

static void h2_begin(struct http_req *rq, int status, const char *type, const char *headers, int64_t length)
{
	struct h2_stream *st = stream_of(rq);

	if (!st->r.started && !is_mute(st))
		(void)start(st, status, type, headers, length, false);
}

static void go_on(struct h2_stream *st)
{
	if (st->deferred) {
		st->deferred = false;
		(void)nghttp2_session_resume_data(st->h->ng, st->id);
	}
	conn_kick(st->h->c);
}

static void h2_write(struct http_req *rq, struct str data)
{
	struct h2_stream *st = stream_of(rq);
	struct request *r = &st->r;

	if (data.n == 0 || !r->started || r->ended || r->no_body || is_mute(st))
		return;
	if (r->left >= 0) {
		if ((uint64_t)r->left < data.n)
			data.n = (size_t)
				     r->left; /* exceeding Content-Length would be an error of the whole connection */
		r->left -= (int64_t)data.n;
	}
	put(st, data);
	if (st->out.bad)
		h2_abort(rq);
	else
		go_on(st);
}

static void h2_end(struct http_req *rq)
{
	struct h2_stream *st = stream_of(rq);
	struct request *r = &st->r;

	if (!r->started || r->ended || is_mute(st))
		return;
	if (!r->no_body && r->left > 0) {
		h2_abort(rq); /* shorter than Content-Length: the peer must see that it is truncated */
		return;
	}
	r->ended = true;
	go_on(st);
}

static int h2_hijack(struct http_req *rq, struct str raw_head, struct stream **ret, struct buf *ret_early)
{
	(void)rq;
	(void)raw_head;
	(void)ret;
	(void)ret_early;
	return -EBUSY;
}

/* --- the body ---------------------------------------------------------------------------------------------- */

/* The handler keeps up, so the peer may send more before it has to wait. */
static void grow_window(struct h2_stream *st)
{
	struct http_server *s = server_of(st);

	if (st->granted || st->taken < WINDOW_SMALL || !s || s->h2_granted + WINDOW_LARGE > H2_GRANTED_MAX)
		return;
	if (nghttp2_session_set_local_window_size(st->h->ng, NGHTTP2_FLAG_NONE, st->id, WINDOW_LARGE) != 0)
		return;
	st->granted = WINDOW_LARGE;
	s->h2_granted += WINDOW_LARGE;
}

static void take(struct h2_stream *st, struct str data)
{
	const struct http_req_ops *ops = st->r.pub.ops;

	if (ops && ops->on_body)
		ops->on_body(&st->r.pub, data);
	st->taken += data.n;
	(void)nghttp2_session_consume_stream(st->h->ng, st->id, data.n);
	if (st->r.want)
		grow_window(st);
}

static void send_continue(struct h2_stream *st)
{
	static const nghttp2_nv v = { (uint8_t *)":status", (uint8_t *)"100", 7, 3, NGHTTP2_NV_FLAG_NONE };

	if (!st->r.expects || !st->r.want || st->r.started || st->aborted)
		return;
	st->r.expects = false;
	(void)nghttp2_submit_headers(st->h->ng, NGHTTP2_FLAG_NONE, st->id, NULL, &v, 1, NULL);
	conn_kick(st->h->c);
}

void h2_begin_body(struct h2_stream *st)
{
	if (!st->body_eof)
		send_continue(st);
}

/* Frames are small, and a handler passes each piece on with a system call. Consecutive pieces of one stream are
 * joined until everything that was read is parsed. */
static char gather[256 * 1024];
static size_t gathered;
static struct h2_stream *gathers; /* the stream that they belong to; NULL: none */

void h2_flush_body(void)
{
	struct h2_stream *st = take_ptr(&gathers);
	struct str data = { gather, gathered };

	gathered = 0;
	if (!st || data.n == 0)
		return;
	if (st->r.want && !st->r.ended && !st->aborted) {
		take(st, data);
		return;
	}
	buf_str(&st->in, data); /* no longer wanted meanwhile */
	if (st->in.bad)
		h2_abort(&st->r.pub);
}

void h2_forget_body(const struct h2_stream *st)
{
	if (gathers == st)
		gathers = NULL;
}

static void gather_body(struct h2_stream *st, struct str data)
{
	if (gathers != st || data.n > sizeof gather - gathered)
		h2_flush_body();
	if (data.n > sizeof gather || !st->r.want || st->in.n) { /* want may have changed just now */
		buf_str(&st->in, data);
		h2_wake(st);
		return;
	}
	memcpy(gather + gathered, data.p, data.n);
	gathered += data.n;
	gathers = st;
}

/* Opens the connection's window at once, so that one unread stream does not block the others; the stream's window
 * is opened when the bytes are consumed. */
void h2_body(struct h2_stream *st, struct str data)
{
	struct request *r = &st->r;

	(void)nghttp2_session_consume_connection(st->h->ng, data.n);
	r->expects = false;
	if (r->ended || st->aborted) {
		(void)nghttp2_session_consume_stream(st->h->ng, st->id, data.n);
		r->dropped += data.n;
		if (r->dropped > DRAIN_MAX && r->keep) {
			r->keep = false;
			h2_wake(st);
		}
	} else {
		gather_body(st, data);
		if (st->in.bad)
			h2_abort(&r->pub);
	}
}

static void h2_want(struct http_req *rq, bool on)
{
	struct h2_stream *st = stream_of(rq);

	if (st->r.want == on || st->r.over)
		return;
	st->r.want = on;
	if (!on)
		return;
	if (!st->body_eof)
		send_continue(st);
	h2_wake(st);
}

/* --- deferred work ----------------------------------------------------------------------------------------------- */

static void step_body(struct h2_stream *st)
{
	struct request *r = &st->r;
	const struct http_req_ops *ops = r->pub.ops;

	if (r->ended && st->in.n) {
		(void)nghttp2_session_consume_stream(st->h->ng, st->id, st->in.n);
		buf_done(&st->in);
	}
	if (r->want && st->in.n && !st->aborted) {
		autobuf struct buf piece = st->in;

		st->in = BUF_INIT(st->in.max);
		take(st, buf_view(&piece));
	}
	if (!st->body_eof || st->in.n || r->end_told || st->aborted)
		return;
	r->body_done = r->end_told = true;
	if (!r->ended && ops && ops->on_body_end)
		ops->on_body_end(&r->pub);
}

void h2_step(struct h2_stream *st)
{
	struct request *r = &st->r;

	if (st->blocked && !st->aborted && !is_full(st)) {
		st->blocked = false;
		if (r->started && !r->ended && r->pub.ops && r->pub.ops->on_drain)
			r->pub.ops->on_drain(&r->pub);
	}
	if (!st->aborted)
		step_body(st);
	/* The answer is sent, and the rest of the body is not worth waiting for. */
	if (st->sent_all && !st->body_eof && !r->keep && !st->aborted) {
		st->aborted = true;
		(void)nghttp2_submit_rst_stream(st->h->ng, NGHTTP2_FLAG_NONE, st->id, NGHTTP2_NO_ERROR);
	}
	if (st->aborted) {
		(void)nghttp2_session_set_stream_user_data(st->h->ng, st->id, NULL);
		h2_over(st, !st->sent_all);
	}
}

static void h2_share_request(struct http_req *rq, struct share *sh)
{
	if (!request_of(rq)->over)
		h2_share(stream_of(rq), sh);
}

const struct request_ops h2_request_ops = {
	.respond = h2_respond,
	.begin = h2_begin,
	.write = h2_write,
	.end = h2_end,
	.queued = h2_queued,
	.want = h2_want,
	.abort = h2_abort,
	.hijack = h2_hijack,
	.share = h2_share_request,
};
