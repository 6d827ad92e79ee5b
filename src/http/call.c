/* SPDX-License-Identifier: Apache-2.0 */
/* http/call: the client side of one request and its answer.
 *
 * As in http/conn.h, all callbacks are made by call_run(), never inside a function that the owner called. The
 * owner may free the call in any of them. */
#include "http/call.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "http/message.h"
#include "loop/loop.h"
#include "loop/stream.h"

#define IN_CEILING (1024 * 1024) /* never reached: a head and one read */
#define PULL_SIZE (16 * 1024)
#define PULLS_MAX 16           /* then a peer that keeps sending is left to the loop */
#define INTERIM_MAX 16         /* 1xx answers before the real one */
#define FIRST_READ (16 * 1024) /* limits how much of the body is read together with the head */

struct http_call {
	struct loop *loop;
	struct stream *s;
	const struct http_call_ops *ops;
	void *user;
	struct message msg;
	struct http_answer answer;
	char *head;     /* the strings of the answer point into it */
	struct buf in;  /* unparsed bytes */
	struct str cur; /* while running: what is left of them, or of the bytes just read */
	size_t scanned;
	unsigned interim;
	int error;    /* reported after everything that arrived before it */
	size_t moved; /* bytes of the answer that were spliced but not reported yet */
	bool is_head, is_connect;
	bool want, eof, drained;
	bool heard; /* a byte has arrived */
	bool answered, ended;
	bool running, kicked, gone; /* gone: freed by the owner */
};

static void call_gone(void *p)
{
	struct http_call *c = p;

	buf_done(&c->in);
	free(c->head);
	free(c);
}

/* No callbacks follow; the memory is freed after the loop iteration. */
static void call_end(struct http_call *c)
{
	c->gone = true;
	stream_close(take_ptr(&c->s));
	loop_defer(c->loop, call_gone, c);
}

static bool fail(struct http_call *c, int no)
{
	c->ended = true;
	stream_read(c->s, false);
	c->ops->on_error(c->user, no);
	return false;
}

static bool step_answer(struct http_call *c)
{
	ssize_t n = head_find(c->cur, &c->scanned);

	if (n < 0)
		return fail(c, EBADMSG);
	if (n == 0)
		return c->eof ? fail(c, ECONNRESET) : false;
	free(c->head);
	c->head = str_dup((struct str) { c->cur.p, (size_t)n });
	c->scanned = 0;
	if (!c->head)
		return fail(c, ENOMEM);
	str_skip(&c->cur, (size_t)n);
	if (message_answer(&c->msg, (struct str) { c->head, (size_t)n }, c->is_head, c->is_connect,
		&c->answer.headers) < 0)
		return fail(c, EBADMSG);
	int status = c->msg.parser.status_code;
	if (status < 200 && status != 101)
		return ++c->interim > INTERIM_MAX ? fail(c, EBADMSG) : true;
	c->answer.status = status;
	c->answer.content_length = c->msg.content_length;
	c->answer.upgrade = status == 101 || c->msg.upgrade;
	c->answered = true;
	stream_read_max(c->s, 0);
	c->ops->on_answer(c->user, &c->answer);
	return true;
}

static bool step_body(struct http_call *c)
{
	autobuf struct buf held = BUF_INIT(MESSAGE_HELD_MAX);
	struct str piece;
	int rc = message_body_joined(&c->msg, &c->cur, &held, &piece);

	if (rc < 0)
		return fail(c, rc == -ENOMEM ? ENOMEM : EBADMSG);
	if (rc == MESSAGE_PIECE) {
		c->ops->on_data(c->user, piece);
		return true;
	}
	if (rc == MESSAGE_MORE && !(c->eof && message_eof(&c->msg)))
		return c->eof ? fail(c, ECONNRESET) : false;
	c->ended = true;
	c->ops->on_end(c->user);
	return true;
}

static bool call_step(struct http_call *c)
{
	if (c->moved) {
		size_t n = c->moved;

		c->moved = 0;
		if (!c->ended)
			c->ops->on_moved(c->user, n);
		return true;
	}
	if (c->drained) {
		c->drained = false;
		if (!c->ended && c->ops->on_drain)
			c->ops->on_drain(c->user);
		return true;
	}
	if (c->ended || !c->want || (c->answered && c->answer.upgrade))
		return c->error && !c->ended ? fail(c, c->error) : false;
	bool more = c->answered ? step_body(c) : step_answer(c);
	if (!more && !c->gone && !c->ended && c->error)
		return fail(c, c->error);
	return more;
}

static void call_run(struct http_call *c, struct str data)
{
	bool borrowed = c->in.n == 0;

	c->heard |= data.n > 0;
	if (!borrowed)
		buf_str(&c->in, data);
	c->cur = borrowed ? data : buf_view(&c->in);
	c->running = true;
	while (!c->gone && call_step(c))
		;
	c->running = false;
	if (c->gone)
		return;
	if (borrowed)
		buf_str(&c->in, c->cur);
	else
		buf_consume(&c->in, c->in.n - c->cur.n);
	c->cur = STR_NULL;
	/* Once the answer is complete reading stops: what follows belongs to the next call. */
	stream_read(c->s, c->want && !c->ended && !c->in.bad && !(c->answered && c->answer.upgrade));
	if (c->in.bad && !c->ended)
		(void)fail(c, ENOMEM);
}

static void on_kicked(void *p)
{
	struct http_call *c = p;

	c->kicked = false;
	if (!c->gone)
		call_run(c, STR_NULL);
}

static void on_data(void *user, struct str data)
{
	call_run(user, data);
}

static void on_eof(void *user)
{
	struct http_call *c = user;

	c->eof = true;
	call_run(c, STR_NULL);
}

static void on_drain(void *user)
{
	struct http_call *c = user;

	c->drained = true;
	call_run(c, STR_NULL);
}

static void on_error(void *user, int no)
{
	struct http_call *c = user;

	c->error = no;
	call_run(c, STR_NULL);
}

static void on_moved(void *user, size_t n)
{
	struct http_call *c = user;

	message_skip(&c->msg, n);
	c->moved += n;
	call_run(c, STR_NULL);
}

static const struct stream_ops call_ops = {
	.on_data = on_data,
	.on_eof = on_eof,
	.on_drain = on_drain,
	.on_error = on_error,
	.on_moved = on_moved,
};

struct http_call *http_call_on(struct loop *l, struct stream *s, const struct http_call_ops *ops, void *user)
{
	struct http_call *c = calloc(1, sizeof *c);

	if (!c) {
		stream_close(s);
		return NULL;
	}
	c->s = s;
	stream_rebind(s, &call_ops, c);
	c->loop = l;
	c->ops = ops;
	c->user = user;
	c->in = BUF_INIT(IN_CEILING);
	c->want = true;
	stream_read_max(c->s, FIRST_READ);
	stream_read(c->s, true);
	return c;
}

struct http_call *http_call_new(struct loop *l, int fd, const struct http_call_ops *ops, void *user)
{
	struct stream *s = stream_new(l, fd, &stream_unowned, NULL);

	return s ? http_call_on(l, s, ops, user) : NULL;
}

void http_call_head(struct http_call *c, struct str head, bool is_head, bool is_connect)
{
	c->is_head = is_head;
	c->is_connect = is_connect;
	stream_write(c->s, head);
}

void http_call_write(struct http_call *c, struct str raw)
{
	stream_write(c->s, raw);
}

void http_call_writev(struct http_call *c, const struct str *v, size_t n)
{
	stream_writev(c->s, v, n);
}

size_t http_call_queued(const struct http_call *c)
{
	return stream_queued(c->s);
}

void http_call_read(struct http_call *c, bool on)
{
	if (c->want == on)
		return;
	c->want = on;
	if (!on) {
		stream_read(c->s, false);
	} else if (!c->running && !c->kicked) {
		c->kicked = true;
		loop_defer(c->loop, on_kicked, c);
	}
}

bool http_call_heard(const struct http_call *c)
{
	return c->heard;
}

void http_call_pull(struct http_call *c)
{
	char data[PULL_SIZE]; /* the stream's own buffer may be in use by the caller */

	for (int i = 0; i < PULLS_MAX && !c->gone && !c->running && c->want && !c->ended; i++) {
		ssize_t n = recv(stream_fd(c->s), data, sizeof data, MSG_DONTWAIT);

		if (n <= 0)
			return; /* the loop detects the end of the connection */
		call_run(c, (struct str) { data, (size_t)n });
	}
}

struct stream *http_call_stream(const struct http_call *c)
{
	return c->s;
}

void http_call_splice(struct http_call *c, struct stream *to, uint64_t max)
{
	uint64_t left = c->msg.left > 0 ? (uint64_t)c->msg.left : 0;

	if (c->running && c->cur.n == 0 && left > 0 && c->ops->on_moved)
		(void)stream_splice(c->s, to, left < max ? left : max);
}

struct stream *http_call_keep(struct http_call *c)
{
	stream_push(c->s);

	bool clean = c->running ? c->cur.n == 0 : c->in.n == 0;
	bool reusable = c->ended && c->answered && c->msg.done && c->msg.keep_alive && clean && !c->eof && !c->error &&
	    !stream_has_failed(c->s) && stream_queued(c->s) == 0;
	struct stream *s = reusable ? take_ptr(&c->s) : NULL;

	if (s) {
		stream_share(s, NULL);
		stream_rebind(s, &stream_unowned, NULL);
	}
	call_end(c);
	return s;
}

int http_call_done(struct http_call *c, bool *ret_reusable)
{
	struct stream *s = http_call_keep(c);

	*ret_reusable = s;
	return s ? stream_take_fd(s) : -1;
}

struct stream *http_call_take(struct http_call *c, struct buf *ret_early)
{
	struct stream *s = NULL;

	if (!c->error && !c->in.bad) {
		buf_str(ret_early, c->running ? c->cur : buf_view(&c->in));
		s = take_ptr(&c->s);
		stream_read_max(s, 0);
		stream_rebind(s, &stream_unowned, NULL);
	}
	call_end(c);
	return s;
}

void http_call_free(struct http_call *c)
{
	if (c)
		call_end(c);
}

void http_call_reset(struct http_call *c)
{
	if (!c)
		return;
	stream_reset(take_ptr(&c->s));
	call_end(c);
}
