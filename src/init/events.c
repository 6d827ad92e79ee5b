/* SPDX-License-Identifier: Apache-2.0 */
/* events: a ring of starts and ends. */
#include "init/events.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "http/json.h"
#include "http/server.h"
#include "init/init.h"
#include "init/reply.h"

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
}

void events_ended(struct events *ev, pid_t pid, int status)
{
	struct event *e = next(ev);

	e->pid = pid;
	e->ended = true;
	e->status = status;
}

static void set_text(json_t *o, const char *name, const char *value)
{
	/* A name that was cut within a character, or never was text, is left out. */
	if (value[0])
		(void)json_object_set_new(o, name, json_string(value));
}

static json_t *event_json(const struct event *e)
{
	json_t *fields = json_object();
	char text[32];

	(void)snprintf(text, sizeof text, "%d", (int)e->pid);
	set_text(fields, "pid", text);
	set_text(fields, "program", e->program);
	set_text(fields, "user", e->user);
	set_text(fields, "request", e->request);
	if (e->ended) {
		(void)snprintf(text, sizeof text, "%d", WIFEXITED(e->status) ? WEXITSTATUS(e->status) : WTERMSIG(e->status));
		set_text(fields, WIFEXITED(e->status) ? "exit_code" : "signal", text);
	}
	return json_pack("{s:I,s:s,s:o}", "at", (json_int_t)e->at_ms, "message",
		e->ended ? "process ended" : "process started", "fields", fields);
}

void events_get(struct init *in, struct http_req *rq)
{
	const struct events *ev = &in->events;
	size_t first = ev->n > EVENTS_KEPT ? ev->n - EVENTS_KEPT : 0;
	json_t *list = json_array();

	for (size_t i = first; i < ev->n; i++)
		(void)json_array_append_new(list, event_json(&ev->v[i % EVENTS_KEPT]));

	autojson json_t *body = json_pack("{s:o}", "events", list);

	reply_json(rq, 200, NULL, body);
}
