/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/init_put: POST /files of init; the body is sent in pieces as init accepts them. */
#include "front/link/init_put.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "front/link/links.h"
#include "front/link/warden_link.h"
#include "front/util/mem.h"
#include "http/call.h"
#include "http/json.h"
#include "http/url.h"
#include "loop/loop.h"
#include "loop/stream.h"
#include "store/uploads.h"

#define ANSWER_MAX (64 * 1024)
#define TEXT_MAX (1024 * 1024)
#define PIECE_MAX (4 * 1024 * 1024)
#define STALL_MS 120000 /* time limit without progress */

struct init_put {
	struct links *links;
	struct warden_call *connecting;
	struct http_call *call;
	struct timer *timer;
	uint64_t upload, bytes, sent, piece;
	struct buf head, text, answer;
	int status;
	init_put_fn *fn;
	void *user;
};

void init_put_free(struct init_put *p)
{
	if (!p)
		return;
	warden_cancel(p->connecting);
	http_call_free(p->call);
	timer_free(p->timer);
	buf_done(&p->head);
	buf_done(&p->text);
	buf_done(&p->answer);
	free(p);
}

static void finish(struct init_put *p, int no, const char *why)
{
	init_put_fn *fn = p->fn;
	void *user = p->user;
	char text[512];

	(void)snprintf(text, sizeof text, "%s", why ? why : "");
	init_put_free(p);
	fn(user, no, text);
}

static void push(struct init_put *p)
{
	struct err e = ERR_INIT;

	timer_arm(p->timer, STALL_MS);
	while (p->upload && p->sent < p->bytes && http_call_queued(p->call) < STREAM_HIGH) {
		autobuf struct buf piece = BUF_INIT(PIECE_MAX);

		if (uploads_read(p->links->uploads, p->upload, p->piece++, &piece, &e) < 0) {
			finish(p, e.no == ENOENT ? EIO : e.no, e.text);
			return;
		}
		p->sent += piece.n;
		http_call_write(p->call, buf_view(&piece));
	}
}

static void on_drain(void *user)
{
	push(user);
}

static void on_answer(void *user, const struct http_answer *a)
{
	struct init_put *p = user;

	p->status = a->status;
}

static void on_data(void *user, struct str data)
{
	struct init_put *p = user;

	buf_str(&p->answer, data);
}

static void on_end(void *user)
{
	struct init_put *p = user;
	autojson json_t *j = NULL;
	struct err e;

	if (p->status == 200) {
		finish(p, 0, NULL);
		return;
	}
	(void)json_read_object(buf_view(&p->answer), true, &j, &e);
	const char *message = json_string_value(json_object_get(j, "message"));

	finish(p, p->status == 507 ? ENOSPC : EIO, message ? message : "its init refuses the file");
}

static void on_error(void *user, int no)
{
	finish(user, no ? no : EIO, no ? strerror(no) : "its init sends nonsense");
}

static const struct http_call_ops ops = {
	.on_answer = on_answer,
	.on_data = on_data,
	.on_end = on_end,
	.on_drain = on_drain,
	.on_error = on_error,
};

static void on_stalled(void *user)
{
	finish(user, ETIMEDOUT, "the sandbox does not take the file");
}

static void on_connected(void *user, const struct warden_reply *re)
{
	struct init_put *p = user;

	p->connecting = NULL;
	if (re->no) {
		finish(p, re->no, re->text);
		return;
	}
	p->call = http_call_new(p->links->loop, re->fd, &ops, p);
	if (!p->call) {
		finish(p, ENOMEM, "out of memory");
		return;
	}
	http_call_head(p->call, buf_view(&p->head), false, false);
	http_call_write(p->call, buf_view(&p->text));
	push(p);
}

struct init_put *init_put_new(struct links *l, const char *id, const char *path, uint64_t upload, uint64_t bytes,
    struct str text, init_put_fn *fn, void *user)
{
	struct init_put *p = must_alloc(sizeof *p);

	*p = (struct init_put) {
		.links = l,
		.upload = upload,
		.bytes = bytes,
		.head = BUF_INIT(8192),
		.text = BUF_INIT(TEXT_MAX),
		.answer = BUF_INIT(ANSWER_MAX),
		.fn = fn,
		.user = user,
	};
	if (!upload)
		buf_str(&p->text, text);
	buf_z(&p->head, "POST /files?username=root&path=");
	url_encode(&p->head, str_of(path));
	buf_fmt(&p->head,
	    " HTTP/1.1\r\nHost: init\r\nContent-Type: application/octet-stream\r\nContent-Length: %llu\r\n\r\n",
	    (unsigned long long)(upload ? bytes : p->text.n));
	p->timer = timer_new(l->loop, on_stalled, p);
	p->connecting = warden_ask_id(l->warden, OP_CONNECT, id, "", on_connected, p);
	return p;
}
