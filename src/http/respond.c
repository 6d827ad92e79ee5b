/* SPDX-License-Identifier: Apache-2.0 */
/* http/respond: answers to HTTP/1.x requests. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "http/conn.h"
#include "loop/stream.h"

#define SPLICE_MIN (64 * 1024) /* fewer bytes are copied */
#define SKIP_MAX (1024 * 1024) /* an unread body up to this length is skipped rather than closing the connection */

static void h1_abort(struct http_req *rq);

/* Without printf(), because every answer uses it. */
static void put_uint(struct buf *b, uint64_t v)
{
	char z[20];
	size_t n = sizeof z;

	do
		z[--n] = (char)('0' + v % 10);
	while (v /= 10);
	buf_put(b, z + n, sizeof z - n);
}

/* Whether another request may follow, which requires that the end of this one's body can be reached. */
static bool can_keep(const struct request *r)
{
	if (!r->keep)
		return false;
	if (r->body_done)
		return true;
	return !r->expects && r->pub.content_length <= SKIP_MAX;
}

/* Builds the head of the answer in the server's buffer. length < 0: no Content-Length. */
static struct str put_head(struct request *r, int status, const char *type, const char *headers, int64_t length)
{
	struct buf *b = &r->pub.conn->server->out;

	r->started = true;
	r->no_body = r->is_head || status == 204 || status == 304;
	r->chunked = length < 0 && !r->http10 && status != 204 && status != 304;
	r->left = length;
	if (length < 0 && r->http10 && !r->no_body)
		r->keep = false; /* the end of the connection marks the end of the answer */
	r->keep = can_keep(r);
	buf_clear(b);
	buf_put(b, "HTTP/1.1 ", 9);
	put_uint(b, (uint64_t)status);
	buf_ch(b, ' ');
	buf_z(b, http_reason(status));
	if (type) {
		buf_z(b, "\r\nContent-Type: ");
		buf_z(b, type);
	}
	if (r->chunked) {
		buf_z(b, "\r\nTransfer-Encoding: chunked");
	} else if (length >= 0 && status != 204 && status != 304) {
		buf_z(b, "\r\nContent-Length: ");
		put_uint(b, (uint64_t)length);
	}
	if (!r->keep)
		buf_z(b, "\r\nConnection: close");
	else if (r->http10)
		buf_z(b, "\r\nConnection: keep-alive");
	buf_z(b, "\r\n");
	if (headers)
		buf_z(b, headers);
	buf_z(b, "\r\n");
	return buf_view(b);
}

/* Nothing can be sent: lost, finished, or the server is gone. */
static bool is_mute(const struct request *r)
{
	return r->over || r->hijacked || !r->pub.conn->s || !r->pub.conn->server;
}

static void answer_ended(struct request *r)
{
	r->ended = true;
	if (!r->over)
		conn_kick(r->pub.conn);
}

static void h1_respond(struct http_req *rq, int status, const char *content_type, const char *headers, struct str body)
{
	struct request *r = request_of(rq);

	if (r->started || is_mute(r))
		return;
	struct str v[2] = { put_head(r, status, content_type, headers, (int64_t)body.n), body };

	if (rq->conn->server->out.bad) {
		h1_abort(rq);
		return;
	}
	stream_writev(rq->conn->s, v, r->no_body ? 1 : 2);
	answer_ended(r);
}

static void h1_begin(struct http_req *rq, int status, const char *content_type, const char *headers, int64_t length)
{
	struct request *r = request_of(rq);

	if (r->started || is_mute(r))
		return;
	struct str head = put_head(r, status, content_type, headers, length);

	if (rq->conn->server->out.bad)
		h1_abort(rq);
	else
		stream_write(rq->conn->s, head);
}

static void h1_write(struct http_req *rq, struct str data)
{
	struct request *r = request_of(rq);

	if (data.n == 0 || !r->started || r->ended || r->no_body || is_mute(r))
		return;
	if (r->chunked) {
		char size[20];
		int n = snprintf(size, sizeof size, "%zx\r\n", data.n);

		stream_writev(rq->conn->s, (struct str[]) { { size, (size_t)n }, data, STR_LIT("\r\n") }, 3);
		return;
	}
	if (r->left >= 0) {
		if ((uint64_t)r->left < data.n)
			data.n = (size_t)r->left; /* more would be taken as part of the next answer */
		r->left -= (int64_t)data.n;
	}
	stream_write(rq->conn->s, data);
}

static ssize_t h1_sendfile(struct http_req *rq, int fd, off_t *at, size_t n)
{
	struct request *r = request_of(rq);

	if (!r->started || r->ended || is_mute(r))
		return -EPIPE;
	if (r->chunked || r->no_body || r->left < 0)
		return -EOPNOTSUPP;

	ssize_t sent = stream_sendfile(rq->conn->s, fd, at, (uint64_t)r->left < n ? (size_t)r->left : n);

	if (sent > 0)
		r->left -= sent;
	return sent;
}

static size_t h1_queued(const struct http_req *rq)
{
	const struct request *r = request_of(rq);

	return is_mute(r) ? 0 : stream_queued(rq->conn->s);
}

static void h1_end(struct http_req *rq)
{
	struct request *r = request_of(rq);

	if (!r->started || r->ended || is_mute(r))
		return;
	if (!r->no_body && r->left > 0) {
		h1_abort(rq); /* shorter than Content-Length: the peer must see that it is truncated */
		return;
	}
	if (r->chunked && !r->no_body)
		stream_write(rq->conn->s, STR_LIT("0\r\n\r\n"));
	answer_ended(r);
}

static void h1_want(struct http_req *rq, bool on)
{
	struct request *r = request_of(rq);

	if (r->want == on || r->over)
		return;
	r->want = on;
	if (on)
		conn_kick(rq->conn);
	else if (rq->conn->s && !r->body_done && !r->ended)
		stream_read(rq->conn->s, false);
}

static void h1_abort(struct http_req *rq)
{
	struct request *r = request_of(rq);
	struct http_conn *c = rq->conn;

	if (r->over || r->hijacked)
		return;
	stream_reset(take_ptr(&c->s));
	c->lost = true;
	conn_kick(c);
}

static int h1_hijack(struct http_req *rq, struct str raw_head, struct stream **ret, struct buf *ret_early)
{
	struct request *r = request_of(rq);
	struct http_conn *c = rq->conn;

	if (is_mute(r))
		return -EPIPE;
	if (r->started || !r->body_done || stream_queued(c->s))
		return -EBUSY;
	stream_write(c->s, raw_head);
	stream_push(c->s);
	if (stream_queued(c->s)) {
		h1_abort(rq);
		return -EPIPE;
	}
	buf_str(ret_early, c->running ? c->cur : buf_view(&c->in));
	*ret = take_ptr(&c->s);
	stream_read(*ret, false);
	r->hijacked = r->started = r->ended = true;
	conn_kick(c);
	return 0;
}

static void h1_body_splice(struct http_req *rq, struct stream *to)
{
	const struct request *r = request_of(rq);
	struct http_conn *c = rq->conn;

	if (!is_mute(r) && c->running && c->cur.n == 0 && c->msg.left >= SPLICE_MIN && r->pub.ops->on_body_moved)
		(void)stream_splice(c->s, to, (uint64_t)c->msg.left);
}

static struct stream *h1_splice_to(const struct http_req *rq, uint64_t *ret_left)
{
	const struct request *r = request_of(rq);

	if (is_mute(r) || !r->started || r->ended || r->no_body || r->chunked || r->left < SPLICE_MIN)
		return NULL;
	*ret_left = (uint64_t)r->left;
	return rq->conn->s;
}

static void h1_share(struct http_req *rq, struct share *sh)
{
	if (!is_mute(request_of(rq)))
		stream_share(rq->conn->s, sh);
}

const struct request_ops h1_ops = {
	.respond = h1_respond,
	.begin = h1_begin,
	.write = h1_write,
	.end = h1_end,
	.queued = h1_queued,
	.want = h1_want,
	.abort = h1_abort,
	.hijack = h1_hijack,
	.sendfile = h1_sendfile,
	.body_splice = h1_body_splice,
	.splice_to = h1_splice_to,
	.share = h1_share,
};
