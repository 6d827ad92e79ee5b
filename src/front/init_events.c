/* SPDX-License-Identifier: Apache-2.0 */
/* front/init_events: GET /atoll/events of init. */
#include "front/init_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "front/front.h"
#include "front/mem.h"
#include "front/sandbox.h"
#include "front/warden_link.h"
#include "http/call.h"
#include "http/json.h"
#include "loop/loop.h"

#define ANSWER_MAX (256 * 1024)
#define WAIT_MS 2000

struct question {
	struct sandbox *sb;
	struct sandbox_link link;
	struct warden_call *connecting;
	struct http_call *call;
	struct timer *timer;
	struct buf answer;
	int status;
	char request[REQUEST_ID_SIZE];
	struct journal events;
	void (*fn)(void *user, struct sandbox *sb, struct journal *events);
	void *user;
};

static void finish(struct question *q)
{
	sandbox_detach(&q->link);
	warden_cancel(q->connecting);
	http_call_free(q->call);
	timer_free(q->timer);
	q->fn(q->user, q->sb, &q->events);
	journal_done(&q->events);
	buf_done(&q->answer);
	sandbox_unref(q->sb);
	free(q);
}

/* {"at":ms, "message":"...", "fields":{...}}; what has another form is left out. */
static void take_event(struct journal *j, const json_t *ev)
{
	const char *message = json_string_value(json_object_get(ev, "message")), *name;
	json_t *fields = json_object_get(ev, "fields"), *v;
	json_int_t at = json_integer_value(json_object_get(ev, "at"));
	struct journal_entry en = {
		.at_ms = (uint64_t)at, .level = LOG_LVL_INFO, .kind = JOURNAL_PROCESS, .message = str_of(message)
	};

	if (!message || at <= 0)
		return;
	json_object_foreach(fields, name, v) {
		if (!json_is_string(v) || en.n_fields == JOURNAL_FIELDS_MAX)
			continue;
		en.fields[en.n_fields].name = str_of(name);
		en.fields[en.n_fields++].value = str_of(json_string_value(v));
	}
	journal_add(j, &en);
}

static void on_answer(void *user, const struct http_answer *a)
{
	struct question *q = user;

	q->status = a->status;
}

static void on_data(void *user, struct str data)
{
	struct question *q = user;

	buf_str(&q->answer, data);
}

static void on_end(void *user)
{
	struct question *q = user;
	autojson json_t *body = NULL;
	bool reusable = false;
	json_t *ev;
	struct err e;
	size_t i;

	if (q->status == 200 && !q->answer.bad && json_read_object(buf_view(&q->answer), false, &body, &e) == 0) {
		json_array_foreach(json_object_get(body, "events"), i, ev)
			take_event(&q->events, ev);
	}

	int fd = http_call_done(take_ptr(&q->call), &reusable);

	if (reusable)
		sandbox_idle_put(q->sb, fd);
	else
		fd_close(fd);
	finish(q);
}

static void on_error(void *user, int no)
{
	(void)no;
	finish(user);
}

static const struct http_call_ops ops = {
	.on_answer = on_answer, .on_data = on_data, .on_end = on_end, .on_error = on_error
};

static void on_late(void *user)
{
	finish(user);
}

static void on_broken(struct sandbox_link *l, struct sandbox *sb)
{
	(void)sb;
	finish(container_of(l, struct question, link));
}

static void on_connected(void *user, const struct warden_reply *re)
{
	struct question *q = user;
	char head[256];

	q->connecting = NULL;
	q->call = re->no ? NULL : http_call_new(q->sb->front->loop, re->fd, &ops, q);
	if (!q->call) {
		finish(q);
		return;
	}

	int n = snprintf(
		head, sizeof head, "GET /atoll/events HTTP/1.1\r\nHost: init\r\nX-Request-Id: %s\r\n\r\n", q->request);

	http_call_head(q->call, (struct str) { head, (size_t)n }, false, false);
}

void init_events_get(struct sandbox *sb, const char *request,
	void (*fn)(void *user, struct sandbox *sb, struct journal *events), void *user)
{
	struct question *q = must_alloc(sizeof *q);

	q->sb = sandbox_ref(sb);
	q->link.broken = on_broken;
	q->answer = BUF_INIT(ANSWER_MAX);
	q->fn = fn;
	q->user = user;
	(void)str_copy(q->request, sizeof q->request, str_of(request));
	sandbox_attach(sb, &q->link);
	q->timer = timer_new(sb->front->loop, on_late, q);
	if (q->timer)
		timer_arm(q->timer, WAIT_MS);
	q->connecting = warden_ask_id(sb->front->warden, OP_CONNECT, sb->id, request, on_connected, q);
}
