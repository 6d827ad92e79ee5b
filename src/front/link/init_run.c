/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/init_run: process.Process/Start of init, a Connect stream in JSON. */
#include "front/link/init_run.h"

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
#include "http/connect.h"
#include "http/json.h"
#include "loop/loop.h"

#define MESSAGE_MAX (2 * 1024 * 1024)
#define PENDING_MAX (4 * 1024 * 1024) /* incomplete envelope of an answer */
#define WHY_SIZE 1024

struct init_run {
	struct links *links;
	struct warden_call *connecting;
	struct http_call *call;
	struct timer *timer;
	struct buf out, in, data;
	int status;
	bool ended; /* the end event was received */
	struct run_end end;
	char why[WHY_SIZE];
	const struct run_ops *ops;
	void *user;
};

void init_run_free(struct init_run *r)
{
	if (!r)
		return;
	warden_cancel(r->connecting);
	http_call_free(r->call);
	timer_free(r->timer);
	buf_done(&r->out);
	buf_done(&r->in);
	buf_done(&r->data);
	free(r);
}

static void finish(struct init_run *r)
{
	const struct run_ops *ops = r->ops;
	struct run_end end = r->end;
	char why[WHY_SIZE];
	void *user = r->user;

	memcpy(why, r->why, sizeof why);
	end.text = why;
	init_run_free(r);
	ops->on_end(user, &end);
}

static void fail(struct init_run *r, int no, const char *text)
{
	r->end = (struct run_end) { .no = no };
	(void)snprintf(r->why, sizeof r->why, "%s", text);
	finish(r);
}

/* {"code":"unauthenticated","message":"..."} */
static void take_error(struct init_run *r, const json_t *error)
{
	const char *code = json_string_value(json_object_get(error, "code"));
	const char *message = json_string_value(json_object_get(error, "message"));

	r->end.refused = true;
	(void)snprintf(r->why, sizeof r->why, "%s: %s", code ? code : "unknown", message ? message : "no reason given");
}

static void take_data(struct init_run *r, const json_t *data)
{
	static const char *const names[] = { "stdout", "stderr" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *text = json_string_value(json_object_get(data, names[i]));

		if (!text || !*text || !r->ops->on_output)
			continue;
		buf_clear(&r->data);
		if (base64_decode(str_of(text), &r->data) == 0)
			r->ops->on_output(r->user, i == 1, buf_view(&r->data));
	}
}

static void take_event(struct init_run *r, const json_t *msg)
{
	const json_t *event = json_object_get(msg, "event");
	const json_t *data = json_object_get(event, "data"), *end = json_object_get(event, "end");

	if (json_object_get(event, "start") && r->ops->on_started)
		r->ops->on_started(r->user);
	if (data)
		take_data(r, data);
	if (!end)
		return;
	const char *status = json_string_value(json_object_get(end, "status"));

	r->ended = true;
	r->end.code = (int)json_integer_value(json_object_get(end, "exitCode"));
	if (r->end.code == 0 && !json_is_true(json_object_get(end, "exited")))
		r->end.code = -1;
	(void)snprintf(r->why, sizeof r->why, "%s", status ? status : "");
}

/* A stream consists of envelopes; an error before the stream begins is plain JSON. */
static void take_all(struct init_run *r)
{
	struct str in = buf_view(&r->in);
	struct envelope ev;

	while (r->status == 200 && envelope_parse(&in, &ev) == 1) {
		autojson json_t *msg = NULL;
		struct err e;

		if (json_read_object(ev.body, true, &msg, &e) < 0)
			continue;
		if (!(ev.flags & ENVELOPE_END))
			take_event(r, msg);
		else if (json_object_get(msg, "error"))
			take_error(r, json_object_get(msg, "error"));
	}
	if (r->status == 200)
		buf_consume(&r->in, r->in.n - in.n);
}

static void on_answer(void *user, const struct http_answer *a)
{
	struct init_run *r = user;

	r->status = a->status;
}

static void on_data(void *user, struct str data)
{
	struct init_run *r = user;

	buf_str(&r->in, data);
	if (r->in.bad)
		fail(r, EMSGSIZE, "its init sends nonsense");
	else
		take_all(r);
}

static void on_end(void *user)
{
	struct init_run *r = user;

	if (r->status != 200) {
		autojson json_t *error = NULL;
		struct err e;

		(void)json_read_object(buf_view(&r->in), true, &error, &e);
		take_error(r, error);
	}
	if (!r->ended && !r->end.refused)
		fail(r, EPIPE, "the stream ended before the process did");
	else
		finish(r);
}

static void on_error(void *user, int no)
{
	fail(user, no ? no : EIO, no ? strerror(no) : "its init sends nonsense");
}

static const struct http_call_ops ops = { .on_answer = on_answer,
	.on_data = on_data,
	.on_end = on_end,
	.on_error = on_error };

static void on_late(void *user)
{
	fail(user, ETIMEDOUT, "it took too long");
}

static void on_connected(void *user, const struct warden_reply *re)
{
	struct init_run *r = user;

	r->connecting = NULL;
	if (re->no) {
		fail(r, re->no, re->text);
		return;
	}
	r->call = http_call_new(r->links->loop, re->fd, &ops, r);
	if (!r->call) {
		fail(r, ENOMEM, "out of memory");
		return;
	}
	http_call_head(r->call, buf_view(&r->out), false, false);
	buf_done(&r->out);
}

static void compose(struct init_run *r, const struct run_spec *sp)
{
	autojson json_t *process = json_pack("{s:s,s:O}", "cmd", sp->cmd, "args", sp->args);
	autojson json_t *msg = json_pack("{s:O,s:b}", "process", process, "stdin", 0);
	autobuf struct buf body = BUF_INIT(MESSAGE_MAX), framed = BUF_INIT(MESSAGE_MAX), auth = BUF_INIT(512);
	autofree char *who = str_fmt("%s:", sp->as_user);

	if (sp->envs)
		(void)json_object_set(process, "envs", sp->envs);
	if (*sp->cwd)
		(void)json_object_set_new(process, "cwd", json_string(sp->cwd));
	json_put(&body, msg);
	envelope_put(&framed, 0, buf_view(&body));
	base64_encode(&auth, str_of(who), true);
	buf_fmt(&r->out,
	    "POST /process.Process/Start HTTP/1.1\r\nHost: init\r\nContent-Type: application/connect+json\r\n"
	    "Connect-Protocol-Version: 1\r\nAuthorization: Basic %.*s\r\nContent-Length: %zu\r\n",
	    STR_ARG(buf_view(&auth)), framed.n);
	if (*sp->request)
		buf_fmt(&r->out, "X-Request-Id: %s\r\n", sp->request);
	buf_z(&r->out, "\r\n");
	buf_str(&r->out, buf_view(&framed));
	if (body.bad || framed.bad || auth.bad)
		r->out.bad = true;
}

struct init_run *init_run_new(struct links *l, const struct run_spec *sp, const struct run_ops *run_ops, void *user)
{
	struct init_run *r = must_alloc(sizeof *r);

	*r = (struct init_run) {
		.links = l,
		.out = BUF_INIT(MESSAGE_MAX + 4096),
		.in = BUF_INIT(PENDING_MAX),
		.data = BUF_INIT(PENDING_MAX),
		.ops = run_ops,
		.user = user,
	};
	compose(r, sp);
	r->timer = timer_new(l->loop, on_late, r);
	if (r->timer && sp->wait_ms)
		timer_arm(r->timer, sp->wait_ms);
	if (r->out.bad && r->timer)
		timer_arm(r->timer, 0); /* so that callbacks are not called from inside */
	else
		r->connecting = warden_ask_id(l->warden, OP_CONNECT, sp->id, sp->request, on_connected, r);
	return r;
}
