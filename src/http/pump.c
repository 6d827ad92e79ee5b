/* SPDX-License-Identifier: Apache-2.0 */
/* http/pump: body up, answer down, both at the speed of the slower end. */
#include "http/pump.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "http/call.h"
#include "http/server.h"
#include "loop/stream.h"

#define HEAD_MAX (HTTP_HEAD_MAX + 4096)

/* Calls a function of all observers that implement it. */
#define TELL(p, fn, ...) \
	do { \
		for (struct pump_observer *o_ = (p)->observers; o_; o_ = o_->next) { \
			if (o_->ops->fn) \
				o_->ops->fn(o_->user __VA_OPT__(, ) __VA_ARGS__); \
		} \
	} while (0)

static void tell_end(struct pump *p, enum pump_end how)
{
	if (p->over)
		return;
	p->over = true;
	TELL(p, on_end, how);
}

static bool body_is_read(const struct pump *p)
{
	for (const struct pump_observer *o = p->observers; o; o = o->next) {
		if (o->ops->reads_body && o->ops->reads_body(o->user))
			return true;
	}
	return false;
}

static bool answer_is_read(const struct pump *p)
{
	for (const struct pump_observer *o = p->observers; o; o = o->next) {
		if (o->ops->reads_answer && o->ops->reads_answer(o->user))
			return true;
	}
	return false;
}

void pump_drop(struct pump *p)
{
	http_call_free(take_ptr(&p->call));
}

void pump_reset(struct pump *p)
{
	http_call_reset(take_ptr(&p->call));
}

void pump_lose(struct pump *p, int no)
{
	bool cut = http_started(p->rq);

	pump_drop(p);
	tell_end(p, PUMP_BROKE);
	if (cut)
		http_abort(p->rq);
	p->ops->on_lost(p->user, no, cut);
}

void pump_done(struct pump *p, bool lost)
{
	tell_end(p, lost ? PUMP_LEFT : PUMP_DONE);
	pump_drop(p);
	p->rq = NULL;
}

/* --- up: the client's request --- */

static void finish_body(struct pump *p)
{
	if (p->rq->content_length < 0)
		http_call_write(p->call, STR_LIT("0\r\n\r\n"));
}

void pump_body(struct pump *p, struct str data)
{
	char size[24];

	if (!p->call)
		return; /* already answered or lost */
	p->body_sent = true;
	p->up += data.n;
	TELL(p, on_body, data);
	if (p->rq->content_length < 0) {
		int n = snprintf(size, sizeof size, "%zx\r\n", data.n);

		http_call_writev(p->call, (struct str[]) { { size, (size_t)n }, data, STR_LIT("\r\n") }, 3);
	} else {
		http_call_write(p->call, data);
		if (p->ops->splice && !body_is_read(p))
			http_body_splice(p->rq, http_call_stream(p->call));
	}
	if (http_call_queued(p->call) > STREAM_HIGH)
		http_body_want(p->rq, false);
}

void pump_body_moved(struct pump *p, size_t n)
{
	p->up += n;
	TELL(p, on_body_moved, n);
}

void pump_body_end(struct pump *p)
{
	p->body_ended = true;
	TELL(p, on_body_end);
	if (p->call)
		finish_body(p);
}

static void on_up_drain(void *user)
{
	struct pump *p = user;

	http_body_want(p->rq, true);
}

/* --- down: the answer --- */

void pump_drain(struct pump *p)
{
	if (p->call)
		http_call_read(p->call, true);
}

static void slow_answer_down(struct pump *p)
{
	if (p->call && http_queued(p->rq) > STREAM_HIGH)
		http_call_read(p->call, false);
}

static void on_answer(void *user, const struct http_answer *a)
{
	struct pump *p = user;
	autobuf struct buf lines = BUF_INIT(HEAD_MAX);

	p->answered = true;
	if (a->upgrade) {
		if (p->rq->upgrade && p->ops->on_upgrade)
			p->ops->on_upgrade(p->user, a);
		else
			pump_lose(p, EPROTO); /* not requested */
		return;
	}
	int rc = p->ops->put_answer(p->user, a, &lines);

	TELL(p, on_answer, a->status, a->content_length);
	if (rc < 0 || lines.bad) {
		pump_lose(p, EPROTO);
		return;
	}
	http_begin(p->rq, a->status, NULL, lines.n ? buf_cstr(&lines) : NULL, a->content_length);
	slow_answer_down(p);
}

static void on_data(void *user, struct str data)
{
	struct pump *p = user;
	uint64_t left;

	p->down += data.n;
	TELL(p, on_data, data);
	http_write(p->rq, data);

	struct stream *to = p->ops->splice && !answer_is_read(p) ? http_splice_to(p->rq, &left) : NULL;

	if (to)
		http_call_splice(p->call, to, left);
	slow_answer_down(p);
}

static void on_moved(void *user, size_t n)
{
	struct pump *p = user;

	p->down += n;
	http_moved(p->rq, n);
}

static void on_end(void *user)
{
	struct pump *p = user;
	struct stream *kept = NULL;

	/* If the body is incomplete, the connection is in the middle of a request and cannot be reused. */
	if (p->body_ended)
		kept = http_call_keep(take_ptr(&p->call));
	else
		pump_drop(p);
	tell_end(p, PUMP_DONE);
	p->ops->on_end(p->user, kept);
	http_end(p->rq);
}

static void on_error(void *user, int no)
{
	struct pump *p = user;

	/* The upstream closed an idle connection just now and has not processed the request. If a byte of an
	 * answer has arrived, it has; if part of the body was sent, it cannot be sent again. */
	if (p->reused && !p->answered && !p->body_sent && !http_call_heard(p->call) && p->ops->reconnect) {
		pump_drop(p);
		http_body_want(p->rq, false);
		if (p->ops->reconnect(p->user))
			return;
	}
	pump_lose(p, no);
}

static const struct http_call_ops call_ops = {
	.on_answer = on_answer,
	.on_data = on_data,
	.on_moved = on_moved,
	.on_end = on_end,
	.on_drain = on_up_drain,
	.on_error = on_error,
};

/* --- connections --- */

static void send_request(struct pump *p, struct http_call *call)
{
	autobuf struct buf head = BUF_INIT(HEAD_MAX);

	p->call = call;
	p->ops->put_request(p->user, &head);
	if (!p->call || head.bad) {
		pump_lose(p, ENOMEM);
		return;
	}
	if (p->share)
		stream_share(http_call_stream(p->call), p->share);
	http_call_head(p->call, buf_view(&head), str_is(p->rq->method, "HEAD"), false);
	explicit_bzero(head.p, head.n); /* contains tokens and keys */
	if (p->body_ended)
		finish_body(p);
	http_body_want(p->rq, true);
}

void pump_send(struct pump *p, int fd, bool reused)
{
	p->reused = reused;
	send_request(p, http_call_new(p->loop, fd, &call_ops, p));
}

void pump_send_on(struct pump *p, struct stream *s, bool reused)
{
	p->reused = reused;
	send_request(p, http_call_on(p->loop, s, &call_ops, p));
}

int pump_take(struct pump *p, struct str head, struct stream **ret_client, struct buf *ret_early_client,
    struct stream **ret_up, struct buf *ret_early_up)
{
	struct stream *up = http_call_take(take_ptr(&p->call), ret_early_up);

	if (!up || ret_early_up->bad || http_hijack(p->rq, head, ret_client, ret_early_client) < 0) {
		stream_close(up);
		pump_lose(p, EPIPE);
		return -EPIPE;
	}
	*ret_up = up;
	return 0;
}

void pump_init(struct pump *p, struct loop *l, struct http_req *rq, struct share *share, const struct pump_ops *ops,
    void *user)
{
	*p = (struct pump) { .loop = l, .rq = rq, .share = share, .ops = ops, .user = user };
	if (share)
		http_share(rq, share);
	http_body_want(rq, false);
}

void pump_observe(struct pump *p, struct pump_observer *o)
{
	struct pump_observer **at = &p->observers;

	while (*at)
		at = &(*at)->next;
	o->next = NULL;
	*at = o;
}
