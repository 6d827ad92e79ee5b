/* SPDX-License-Identifier: Apache-2.0 */
/* events: a ring buffer of process starts and ends. */
#include "init/events.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/clock.h"
#include "http/json.h"
#include "http/server.h"
#include "init/oom.h"
#include "init/reply.h"

#define LINE_MAX_BYTES 4096
#define QUEUE_MAX_BYTES (64 * 1024)

static void set_text(json_t *o, const char *name, const char *value)
{
	/* json_string() fails on a name that is not UTF-8 or was truncated within a character: the field is then
	 * left out. */
	if (value[0])
		(void)json_object_set_new(o, name, json_string(value));
}

static json_t *event_json(const struct event *e)
{
	json_t *fields = json_object();
	char text[32];

	if (e->kind == EVENT_NOTE) {
		set_text(fields, "text", e->note);
		return json_pack("{s:I,s:s,s:b,s:o}", "at", (json_int_t)e->at_ms, "message", "note", "own", 1, "fields",
		    fields);
	}

	(void)snprintf(text, sizeof text, "%d", (int)e->pid);
	set_text(fields, "pid", text);
	set_text(fields, "program", e->program);
	set_text(fields, "user", e->user);
	set_text(fields, "request", e->request);
	if (e->kind == EVENT_ENDED) {
		(void)snprintf(text, sizeof text, "%d",
		    WIFEXITED(e->status) ? WEXITSTATUS(e->status) : WTERMSIG(e->status));
		set_text(fields, WIFEXITED(e->status) ? "exit_code" : "signal", text);
		if (e->status & STATUS_OOM)
			set_text(fields, "error", OOM_NAME);
	}
	return json_pack("{s:I,s:s,s:o}", "at", (json_int_t)e->at_ms, "message",
	    e->kind == EVENT_ENDED ? "process ended" : "process started", "fields", fields);
}

static void tell(struct http_req *rq, const struct event *e)
{
	autobuf struct buf line = BUF_INIT(LINE_MAX_BYTES);
	autojson json_t *j = event_json(e);

	json_put(&line, j);
	buf_ch(&line, '\n');
	if (!line.bad)
		http_write(rq, buf_view(&line));
}

/* A listener that does not read is disconnected. When the front reconnects, it gets the remembered events again. */
static void tell_all(struct events *ev, const struct event *e)
{
	for (size_t i = 0; i < EVENTS_LISTENERS; i++) {
		struct http_req *rq = ev->listeners[i];

		if (rq && http_queued(rq) > QUEUE_MAX_BYTES)
			http_abort(rq);
		else if (rq)
			tell(rq, e);
	}
}

static struct event *next(struct events *ev)
{
	struct event *e = &ev->v[ev->n++ % EVENTS_KEPT];

	*e = (struct event) { .at_ms = clock_wall_ms() };
	return e;
}

void events_started(struct events *ev, pid_t pid, const char *program, const char *user, struct str request)
{
	struct event *e = next(ev);

	e->pid = pid;
	(void)snprintf(e->program, sizeof e->program, "%s", program);
	(void)snprintf(e->user, sizeof e->user, "%s", user);
	(void)str_copy(e->request, sizeof e->request, request);
	tell_all(ev, e);
}

void events_ended(struct events *ev, pid_t pid, int status)
{
	struct event *e = next(ev);

	e->pid = pid;
	e->kind = EVENT_ENDED;
	e->status = status;
	tell_all(ev, e);
}

void events_note(struct events *ev, const char *text)
{
	struct event *e = next(ev);

	e->kind = EVENT_NOTE;
	(void)snprintf(e->note, sizeof e->note, "%s", text);
	tell_all(ev, e);
}

static void on_close(struct http_req *rq, bool lost)
{
	struct events *ev = rq->user;

	(void)lost;
	for (size_t i = 0; i < EVENTS_LISTENERS; i++) {
		if (ev->listeners[i] == rq)
			ev->listeners[i] = NULL;
	}
}

static const struct http_req_ops listener_ops = { .on_close = on_close };

void events_get(struct events *ev, struct http_req *rq)
{
	size_t i = 0;

	while (i < EVENTS_LISTENERS && ev->listeners[i])
		i++;
	if (i == EVENTS_LISTENERS) {
		init_reply_error(rq, 429, "too many listeners");
		return;
	}
	ev->listeners[i] = rq;
	rq->ops = &listener_ops;
	rq->user = ev;
	http_begin(rq, 200, "application/x-ndjson", NULL, -1);
	for (i = ev->n > EVENTS_KEPT ? ev->n - EVENTS_KEPT : 0; i < ev->n; i++)
		tell(rq, &ev->v[i % EVENTS_KEPT]);
	http_write(rq, STR_LIT("\n")); /* marks the end of the remembered events */
}
