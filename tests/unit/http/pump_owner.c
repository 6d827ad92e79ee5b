/* SPDX-License-Identifier: Apache-2.0 */
/* The owner of the pump in its units, see pump_owner.h. */
#include "pump_owner.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --- the owner --- */

static void put_request(void *user, struct buf *out)
{
	struct owner *t = user;
	const struct http_req *rq = t->pump.rq;

	buf_fmt(out, "%.*s %.*s HTTP/1.1\r\nHost: up\r\n", STR_ARG(rq->method), STR_ARG(rq->target));
	if (rq->content_length < 0)
		buf_z(out, "Transfer-Encoding: chunked\r\n");
	else
		buf_fmt(out, "Content-Length: %lld\r\n", (long long)rq->content_length);
	buf_z(out, "\r\n");
}

static int put_answer(void *user, const struct http_answer *a, struct buf *out)
{
	struct owner *t = user;

	buf_fmt(out, "X-Passed: %d\r\n", a->status);
	return t->bad_answer ? -EBADMSG : 0;
}

void send_up(struct owner *t, bool reused)
{
	int sv[2];

	wire_pair(sv);
	fd_close(t->up);
	t->up = sv[1];
	buf_clear(&t->asked);
	pump_send(&t->pump, sv[0], reused);
}

static bool reconnect(void *user)
{
	struct owner *t = user;

	buf_z(&t->events, "again ");
	if (!t->no_second)
		send_up(t, false);
	return !t->no_second;
}

static void on_end(void *user, struct stream *kept)
{
	struct owner *t = user;

	buf_z(&t->events, "end ");
	t->kept = kept ? stream_take_fd(kept) : -1;
}

static void on_lost(void *user, int no, bool cut)
{
	struct owner *t = user;

	buf_fmt(&t->events, "lost-%s%s ", no == EPROTO ? "proto" : "broken", cut ? "-cut" : "");
	if (!cut)
		http_respond(t->pump.rq, 502, "text/plain", NULL, STR_LIT("sorry"));
}

static const struct stream_ops no_ops;

static void on_upgrade(void *user, const struct http_answer *a)
{
	struct owner *t = user;

	buf_z(&t->events, "upgrade ");
	assert_int_equal(a->status, 101);
	if (pump_take(&t->pump, STR_LIT("HTTP/1.1 101 Yes\r\n\r\n"), &t->tunnel[0], &t->early[0], &t->tunnel[1],
		&t->early[1]) < 0)
		return;
	for (int i = 0; i < 2; i++)
		stream_rebind(t->tunnel[i], &no_ops, NULL);
}

/* --- its observers --- */

static bool reads(void *user)
{
	return ((struct owner *)user)->reads;
}

static void see_body(void *user, struct str data)
{
	((struct owner *)user)->seen_body += data.n;
}

static void see_body_moved(void *user, size_t n)
{
	((struct owner *)user)->moved_body += n;
}

static void see_body_end(void *user)
{
	buf_z(&((struct owner *)user)->events, "body ");
}

static void see_answer(void *user, int status, int64_t length)
{
	buf_fmt(&((struct owner *)user)->events, "answer-%d/%lld ", status, (long long)length);
}

static void see_data(void *user, struct str data)
{
	((struct owner *)user)->seen_answer += data.n;
}

static void see_end(void *user, enum pump_end how)
{
	static const char *const words[] = { "done ", "left ", "broke " };

	buf_z(&((struct owner *)user)->events, words[how]);
}

static const struct pump_observer_ops watcher_ops = {
	.reads_body = reads,
	.reads_answer = reads,
	.on_body = see_body,
	.on_body_moved = see_body_moved,
	.on_body_end = see_body_end,
	.on_answer = see_answer,
	.on_data = see_data,
	.on_end = see_end,
};

static void see_end_too(void *user, enum pump_end how)
{
	(void)how;
	buf_z(&((struct owner *)user)->events, "second ");
}

static const struct pump_observer_ops second_ops = { .on_end = see_end_too };

/* --- the client's side of it --- */

static void on_body(struct http_req *rq, struct str data)
{
	pump_body(&((struct owner *)rq->user)->pump, data);
}

static void on_body_moved(struct http_req *rq, size_t n)
{
	pump_body_moved(&((struct owner *)rq->user)->pump, n);
}

static void on_body_end(struct http_req *rq)
{
	pump_body_end(&((struct owner *)rq->user)->pump);
}

static void on_drain(struct http_req *rq)
{
	pump_drain(&((struct owner *)rq->user)->pump);
}

static void on_close(struct http_req *rq, bool lost)
{
	struct owner *t = rq->user;

	pump_done(&t->pump, lost);
	buf_z(&t->events, lost ? "gone" : "over");
	t->busy = false;
}

static const struct http_req_ops req_ops = { .on_body = on_body,
	.on_body_moved = on_body_moved,
	.on_body_end = on_body_end,
	.on_drain = on_drain,
	.on_close = on_close };

static void on_request(void *user, struct http_req *rq)
{
	struct owner *t = user;

	rq->ops = &req_ops;
	rq->user = t;
	t->busy = true;
	pump_init(&t->pump, t->l, rq, &t->share, &t->ops, t);
	t->watcher = (struct pump_observer) { &watcher_ops, t, NULL };
	t->second = (struct pump_observer) { &second_ops, t, NULL };
	pump_observe(&t->pump, &t->watcher);
	pump_observe(&t->pump, &t->second);
	if (!t->patient)
		send_up(t, t->idle);
}

static const struct http_server_ops server_ops = { .on_request = on_request };

int set_up(void **state)
{
	struct owner *t = calloc(1, sizeof *t);
	int sv[2];

	assert_non_null(t);
	wire_pair(sv);
	t->l = loop_new();
	share_init(&t->share, t->l);
	t->ops = (struct pump_ops) { .put_request = put_request,
		.put_answer = put_answer,
		.on_upgrade = on_upgrade,
		.reconnect = reconnect,
		.on_end = on_end,
		.on_lost = on_lost };
	t->up = t->kept = -1;
	t->client = sv[1];
	t->asked = t->got = BUF_INIT(2 * MANY);
	t->events = t->early[0] = t->early[1] = BUF_INIT(4096);
	t->server = http_server_new(t->l, -1, &server_ops, t);
	assert_int_equal(http_server_adopt(t->server, sv[0]), 0);
	*state = t;
	return 0;
}

int tear_down(void **state)
{
	struct owner *t = *state;

	http_server_free(t->server);
	for (int i = 0; i < 2; i++) {
		stream_close(t->tunnel[i]);
		buf_done(&t->early[i]);
	}
	fd_close(t->client);
	fd_close(t->up);
	fd_close(t->kept);
	wire_turns(t->l, 3);
	assert_false(t->busy);
	share_done(&t->share);
	loop_free(t->l);
	buf_done(&t->asked);
	buf_done(&t->got);
	buf_done(&t->events);
	free(t);
	return 0;
}

/* --- what the far ends do --- */

void settle(struct owner *t)
{
	for (size_t i = 0, before = 0; i < 8; i++) {
		wire_turns(t->l, 3);
		(void)wire_recv(t->up, &t->asked);
		(void)wire_recv(t->client, &t->got);
		if (t->asked.n + t->got.n + t->events.n != before)
			i = 0;
		before = t->asked.n + t->got.n + t->events.n;
	}
}

void client_says(struct owner *t, const char *bytes)
{
	wire_send(t->client, str_of(bytes));
	settle(t);
}

void up_says(struct owner *t, const char *bytes)
{
	wire_send(t->up, str_of(bytes));
	settle(t);
}

void up_leaves(struct owner *t)
{
	fd_close(take_fd(&t->up));
	settle(t);
}

bool has(struct buf *b, const char *text)
{
	return strstr(buf_cstr(b), text) != NULL;
}

bool ends_with(struct buf *b, const char *text)
{
	return str_ends(buf_view(b), text);
}
