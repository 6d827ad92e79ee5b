/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/init_call: connects if needed, sends the request, waits for the answer. */
#include "front/link/init_call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "front/link/links.h"
#include "front/link/warden_link.h"
#include "front/util/mem.h"
#include "http/call.h"
#include "loop/loop.h"

#define MESSAGE_MAX (2 * 1024 * 1024 + 4096)

struct init_call {
	struct links *link;
	struct warden_call *connecting;
	struct http_call *call;
	struct timer *timer;
	struct buf out; /* the whole request, until it is sent */
	struct buf in;  /* the answer, if requested */
	bool want_body;
	int status;
	init_call_fn *fn;
	void *user;
};

void init_call_free(struct init_call *c)
{
	if (!c)
		return;
	warden_cancel(c->connecting);
	http_call_free(c->call);
	timer_free(c->timer);
	buf_done(&c->out);
	buf_done(&c->in);
	free(c);
}

static void finish(struct init_call *c, int no, const char *text, int fd)
{
	struct init_result re = { .no = no, .text = text, .status = c->status, .fd = fd };
	autobuf struct buf body = c->in;
	init_call_fn *fn = c->fn;
	void *user = c->user;

	c->in = BUF_INIT(0);
	re.body = body.bad ? STR_NULL : buf_view(&body);
	init_call_free(c);
	fn(user, &re);
}

static void on_answer(void *user, const struct http_answer *a)
{
	struct init_call *c = user;

	c->status = a->status;
}

static void on_data(void *user, struct str data)
{
	struct init_call *c = user;

	if (c->want_body)
		buf_str(&c->in, data);
}

static void on_end(void *user)
{
	struct init_call *c = user;
	bool reusable = false;
	int fd = http_call_done(take_ptr(&c->call), &reusable);

	if (!reusable)
		fd_close(take_fd(&fd));
	finish(c, 0, NULL, fd);
}

static void on_error(void *user, int no)
{
	finish(user, no ? no : EIO, no ? strerror(no) : "it does not make sense", -1);
}

static const struct http_call_ops ops = { .on_answer = on_answer,
	.on_data = on_data,
	.on_end = on_end,
	.on_error = on_error };

static void on_late(void *user)
{
	finish(user, ETIMEDOUT, "it does not answer", -1);
}

static void send_on(struct init_call *c, int fd)
{
	c->call = http_call_new(c->link->loop, fd, &ops, c);
	if (!c->call) {
		timer_arm(c->timer, 0); /* so that fn is not called from inside */
		return;
	}
	http_call_head(c->call, buf_view(&c->out), false, false); /* head and body in one write: one wake-up of init */
	buf_done(&c->out);
}

static void on_connected(void *user, const struct warden_reply *re)
{
	struct init_call *c = user;

	c->connecting = NULL;
	if (re->no)
		finish(c, re->no, re->text, -1);
	else
		send_on(c, re->fd);
}

struct init_call *init_call_new(struct links *l, const struct init_request *rq, init_call_fn *fn, void *user)
{
	struct init_call *c = must_alloc(sizeof *c);

	*c = (struct init_call) { .link = l,
		.out = BUF_INIT(MESSAGE_MAX),
		.in = BUF_INIT(MESSAGE_MAX),
		.want_body = rq->want_body,
		.fn = fn,
		.user = user };
	c->timer = timer_new(l->loop, on_late, c);
	if (!c->timer)
		abort(); /* out of memory, as in must_alloc() */
	timer_arm(c->timer, rq->wait_ms);
	buf_fmt(&c->out, "%s %s HTTP/1.1\r\nHost: init\r\n", rq->method, rq->path);
	if (*rq->request)
		buf_fmt(&c->out, "X-Request-Id: %s\r\n", rq->request);
	if (rq->body.p)
		buf_fmt(&c->out, "Content-Type: application/json\r\nContent-Length: %zu\r\n", rq->body.n);
	buf_z(&c->out, "\r\n");
	buf_str(&c->out, rq->body);
	if (rq->fd >= 0)
		send_on(c, rq->fd);
	else
		c->connecting = warden_ask_id(l->warden, OP_CONNECT, rq->id, rq->request, on_connected, c);
	return c;
}
