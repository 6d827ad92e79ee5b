/* SPDX-License-Identifier: Apache-2.0 */
/* clients: the streams attached to a process, each with its keepalive and its deadline. */
#include <errno.h>
#include <stdlib.h>

#include "base/fd.h"
#include "http/json.h"
#include "http/schema.h"
#include "init/call.h"
#include "init/init.h"
#include "init/process/impl.h"
#include "loop/loop.h"
#include "loop/stream.h"

#define EVENT_DATA (32 * 1024) /* bytes of output in one event */
#define EVENT_MAX (64 * 1024)
#define EVENTS_MAX (1024 * 1024) /* of one read */

static void client_free(struct client *cl)
{
	struct client **at = &cl->p->clients;

	while (*at && *at != cl)
		at = &(*at)->next;
	if (*at)
		*at = cl->next;
	cl->c->on_gone = NULL;
	cl->c->on_drain = NULL;
	timer_free(cl->keepalive);
	timer_free(cl->deadline);
	free(cl);
}

static void on_gone(struct call *c)
{
	struct client *cl = c->state;
	struct proc *p = cl->p;

	client_free(cl);
	proc_flow(p);
}

static void on_drain(struct call *c)
{
	proc_flow(((struct client *)c->state)->p);
}

static void on_keepalive(void *user)
{
	struct client *cl = user;

	autojson json_t *msg = json_pack("{s:{s:{}}}", "event", "keepalive");

	call_send(cl->c, msg);
	timer_arm(cl->keepalive, cl->keepalive_ms);
}

static void client_fail(struct client *cl)
{
	struct call *c = cl->c;
	struct proc *p = cl->p;

	client_free(cl);
	call_fail(c, CONNECT_DEADLINE_EXCEEDED, "context deadline exceeded");
	proc_flow(p);
}

static void on_deadline(void *user)
{
	client_fail(user);
}

static void send_start(struct call *c, const struct proc *p)
{
	autojson json_t *msg = json_pack("{s:{s:{s:i}}}", "event", "start", "pid", (int)p->pid);

	call_send(c, msg);
}

static void send_end(struct call *c, const struct proc *p)
{
	call_send(c, p->end);
	call_end(c);
}

int proc_attach(struct proc *p, struct call *c, bool starter, uint64_t timeout_ms)
{
	struct client *cl;
	size_t n = 0;

	if (p->state == PROC_ENDED) {
		send_start(c, p);
		send_end(c, p);
		return 0;
	}
	for (cl = p->clients; cl; cl = cl->next)
		n++;
	if (n >= PROC_CLIENTS_MAX)
		return -EAGAIN;
	cl = calloc(1, sizeof(*cl));
	if (!cl)
		return -ENOMEM;
	cl->keepalive = timer_new(p->in->loop, on_keepalive, cl);
	cl->deadline = timer_new(p->in->loop, on_deadline, cl);
	if (!cl->keepalive || !cl->deadline) {
		timer_free(cl->keepalive);
		timer_free(cl->deadline);
		free(cl);
		return -ENOMEM;
	}
	cl->p = p;
	cl->c = c;
	cl->starter = starter;
	cl->keepalive_ms = call_keepalive_ms(c);
	cl->next = p->clients;
	p->clients = cl;
	c->state = cl;
	c->on_gone = on_gone;
	c->on_drain = on_drain;
	timer_arm(cl->keepalive, cl->keepalive_ms);
	if (!starter && timeout_ms)
		timer_arm(cl->deadline, timeout_ms);
	send_start(c, p);
	return 0;
}

/* Serializes a data event without a JSON tree, because every byte that a command prints passes through here. */
static void put_data(struct buf *framed, bool binary, const char *name, struct str data)
{
	autobuf struct buf event = BUF_INIT(EVENT_MAX);

	if (binary) {
		pb_put_bytes(&event, &pb_event_response, (const char *[]) { "event", "data", name, NULL }, data);
	} else {
		buf_fmt(&event, "{\"event\":{\"data\":{\"%s\":\"", name);
		base64_encode(&event, data, true);
		buf_z(&event, "\"}}}");
	}
	envelope_put(framed, 0, buf_view(&event));
}

static void put_events(struct buf *framed, bool binary, const char *name, struct str data)
{
	while (data.n) {
		struct str one = { data.p, data.n < EVENT_DATA ? data.n : EVENT_DATA };

		put_data(framed, binary, name, one);
		str_skip(&data, one.n);
	}
}

void clients_send_data(struct proc *p, const char *name, struct str data)
{
	autobuf struct buf json = BUF_INIT(EVENTS_MAX), binary = BUF_INIT(EVENTS_MAX);

	for (struct client *cl = p->clients; cl; cl = cl->next) {
		struct buf *framed = cl->c->binary ? &binary : &json;

		if (!framed->n)
			put_events(framed, cl->c->binary, name, data);
		call_send_raw(cl->c, buf_view(framed));
		timer_arm(cl->keepalive, cl->keepalive_ms);
	}
}

void clients_end(struct proc *p)
{
	while (p->clients) {
		struct call *c = p->clients->c;

		client_free(p->clients);
		send_end(c, p);
	}
}

void clients_fail_starter(struct proc *p)
{
	for (struct client *cl = p->clients; cl; cl = cl->next) {
		if (cl->starter) {
			client_fail(cl);
			return;
		}
	}
}

bool clients_full(const struct proc *p)
{
	for (const struct client *cl = p->clients; cl; cl = cl->next)
		if (call_queued(cl->c) > STREAM_HIGH)
			return true;
	return false;
}
