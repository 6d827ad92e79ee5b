/* SPDX-License-Identifier: Apache-2.0 */
/* Units of http/pump: a client and an upstream at the two ends of it, both played by the test over socketpairs. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/call.h"
#include "http/pump.h"
#include "http/server.h"
#include "loop/share.h"
#include "loop/stream.h"
#include "unit.h"
#include "wire.h"

#define MANY (16 << 20)

struct owner {
	struct loop *l;
	struct http_server *server;
	struct share share;
	struct pump pump;
	struct pump_ops ops;
	struct pump_observer watcher, second;
	bool busy;      /* a request is under way */
	bool patient;   /* it is sent on by hand, with send_up() */
	bool idle;      /* its first connection counts as one that was idle */
	bool no_second; /* reconnect() gives up */
	bool bad_answer;
	bool reads;        /* the observer wants all bytes */
	int client, up;    /* the far ends */
	struct buf asked;  /* what the upstream got on its connection of the moment */
	struct buf got;    /* what the client got */
	struct buf events; /* of the owner and of its observers, one word each */
	size_t seen_body, moved_body, seen_answer;
	int kept; /* the fd that on_end gave, or -1 */
	struct stream *tunnel[2];
	struct buf early[2];
};

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

static void send_up(struct owner *t, bool reused)
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

static void on_end(void *user, int fd)
{
	struct owner *t = user;

	buf_z(&t->events, "end ");
	t->kept = fd;
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

static int set_up(void **state)
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

static int tear_down(void **state)
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

/* Until nothing moves any more. */
static void settle(struct owner *t)
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

static void client_says(struct owner *t, const char *bytes)
{
	wire_send(t->client, str_of(bytes));
	settle(t);
}

static void up_says(struct owner *t, const char *bytes)
{
	wire_send(t->up, str_of(bytes));
	settle(t);
}

static void up_leaves(struct owner *t)
{
	fd_close(take_fd(&t->up));
	settle(t);
}

#define GET "GET /x HTTP/1.1\r\nHost: c\r\n\r\n"
#define OK(length) "HTTP/1.1 200 OK\r\nContent-Length: " #length "\r\n\r\n"

static bool has(struct buf *b, const char *text)
{
	return strstr(buf_cstr(b), text) != NULL;
}

static bool ends_with(struct buf *b, const char *text)
{
	return str_ends(buf_view(b), text);
}

/* --- tests --- */

static void a_request_goes_up_and_its_answer_down(void **state)
{
	struct owner *t = *state;

	client_says(t, "POST /x?y HTTP/1.1\r\nHost: c\r\nContent-Length: 5\r\n\r\nhel");
	assert_string_equal(buf_cstr(&t->asked), "POST /x?y HTTP/1.1\r\nHost: up\r\nContent-Length: 5\r\n\r\nhel");
	client_says(t, "lo");
	assert_true(ends_with(&t->asked, "hello"));
	up_says(t, OK(3) "o");
	assert_true(has(&t->got, "HTTP/1.1 200 OK\r\n") && has(&t->got, "X-Passed: 200\r\n"));
	assert_true(has(&t->got, "Content-Length: 3\r\n") && ends_with(&t->got, "\r\n\r\no"));
	up_says(t, "ki");
	assert_true(ends_with(&t->got, "oki"));
	assert_string_equal(buf_cstr(&t->events), "body answer-200/3 done second end over");
	assert_int_equal(t->pump.up, 5);
	assert_int_equal(t->pump.down, 3);
	assert_int_equal(t->seen_body, 5);
	assert_int_equal(t->seen_answer, 3);
	assert_true(t->kept >= 0); /* for the next request */
}

static void chunks_are_made_anew_both_ways(void **state)
{
	struct owner *t = *state;

	client_says(t, "POST /x HTTP/1.1\r\nHost: c\r\nTransfer-Encoding: chunked\r\n\r\n3;ext=1\r\nabc\r\n");
	assert_true(ends_with(&t->asked, "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"));
	client_says(t, "2\r\nde\r\n0\r\n\r\n");
	assert_true(ends_with(&t->asked, "2\r\nde\r\n0\r\n\r\n"));
	up_says(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nwxyz\r\n");
	assert_true(has(&t->got, "ransfer-Encoding: chunked\r\n") && ends_with(&t->got, "\r\n\r\n4\r\nwxyz\r\n"));
	up_says(t, "0\r\n\r\n");
	assert_true(ends_with(&t->got, "0\r\n\r\n"));
	assert_string_equal(buf_cstr(&t->events), "body answer-200/-1 done second end over");
	assert_true(t->kept >= 0);
}

static void trailers_do_not_pass(void **state)
{
	struct owner *t = *state;

	client_says(t,
	    "POST /x HTTP/1.1\r\nHost: c\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Up: 1\r\n\r\n");
	assert_true(ends_with(&t->asked, "1\r\na\r\n0\r\n\r\n"));
	up_says(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nb\r\n0\r\nX-Down: 1\r\n\r\n");
	assert_true(ends_with(&t->got, "1\r\nb\r\n0\r\n\r\n"));
	assert_false(has(&t->asked, "X-Up") || has(&t->got, "X-Down"));
}

static void a_body_is_asked_for_when_there_is_an_upstream(void **state)
{
	struct owner *t = *state;

	t->patient = true;
	client_says(t, "PUT /x HTTP/1.1\r\nHost: c\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
	assert_int_equal(t->got.n, 0);
	send_up(t, false);
	settle(t);
	assert_string_equal(buf_cstr(&t->got), "HTTP/1.1 100 Continue\r\n\r\n");
	assert_false(has(&t->asked, "xpect"));
	client_says(t, "hi");
	assert_true(ends_with(&t->asked, "\r\n\r\nhi"));
	up_says(t, "HTTP/1.1 100 Continue\r\n\r\n" OK(0)); /* one of the upstream's own stays here */
	assert_true(has(&t->got, "200 OK"));
	assert_string_equal(buf_cstr(&t->events), "body answer-200/0 done second end over");
}

static void a_body_that_came_early_waits(void **state)
{
	struct owner *t = *state;

	t->patient = true;
	client_says(t, "POST /x HTTP/1.1\r\nHost: c\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n");
	assert_string_equal(buf_cstr(&t->events), "");
	send_up(t, false);
	settle(t);
	assert_true(ends_with(&t->asked, "\r\n\r\n2\r\nhi\r\n0\r\n\r\n"));
}

/* --- a second try --- */

static void a_dead_idle_connection_is_tried_again_once(void **state)
{
	struct owner *t = *state;

	t->idle = true;
	client_says(t, GET);
	assert_true(has(&t->asked, "GET /x"));
	up_leaves(t);
	assert_string_equal(buf_cstr(&t->events), "body again ");
	assert_string_equal(buf_cstr(&t->asked), "GET /x HTTP/1.1\r\nHost: up\r\nContent-Length: 0\r\n\r\n");
	up_leaves(t); /* that one was new */
	assert_string_equal(buf_cstr(&t->events), "body again broke second lost-broken over");
	assert_true(has(&t->got, "HTTP/1.1 502 "));
}

static void the_second_try_is_answered_like_the_first(void **state)
{
	struct owner *t = *state;

	t->idle = true;
	client_says(t, "POST /x HTTP/1.1\r\nHost: c\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
	up_leaves(t);
	assert_true(ends_with(&t->asked, "chunked\r\n\r\n0\r\n\r\n")); /* the end of the body goes up again */
	up_says(t, OK(2) "ok");
	assert_true(ends_with(&t->got, "ok"));
	assert_string_equal(buf_cstr(&t->events), "body again answer-200/2 done second end over");
}

static void a_new_connection_that_dies_is_not_tried_again(void **state)
{
	struct owner *t = *state;

	client_says(t, GET);
	up_leaves(t);
	assert_string_equal(buf_cstr(&t->events), "body broke second lost-broken over");
}

static void nothing_is_tried_again_after_the_first_byte(void **state)
{
	struct owner *t = *state;

	t->idle = true;
	client_says(t, GET);
	up_says(t, "H");
	up_leaves(t);
	assert_string_equal(buf_cstr(&t->events), "body broke second lost-broken over");
	assert_true(has(&t->got, "HTTP/1.1 502 "));
}

static void nor_after_an_interim_answer(void **state)
{
	struct owner *t = *state;

	t->idle = true;
	client_says(t, GET);
	up_says(t, "HTTP/1.1 102 Processing\r\n\r\n");
	up_leaves(t);
	assert_string_equal(buf_cstr(&t->events), "body broke second lost-broken over");
}

static void a_body_that_was_partly_sent_is_not_sent_again(void **state)
{
	struct owner *t = *state;

	t->idle = true;
	client_says(t, "POST /x HTTP/1.1\r\nHost: c\r\nContent-Length: 5\r\n\r\nh");
	assert_true(ends_with(&t->asked, "\r\n\r\nh"));
	up_leaves(t);
	assert_true(has(&t->got, "HTTP/1.1 502 "));
	assert_false(has(&t->events, "again"));
	client_says(t, "ello"); /* the rest is read and dropped */
	assert_string_equal(buf_cstr(&t->events), "broke second lost-broken over");
}

static void who_has_no_second_connection_gives_up(void **state)
{
	struct owner *t = *state;

	t->idle = t->no_second = true;
	client_says(t, GET);
	up_leaves(t);
	assert_string_equal(buf_cstr(&t->events), "body again broke second lost-broken over");
}

/* --- one of the two leaves --- */

static void a_client_that_leaves_takes_the_connection_along(void **state)
{
	struct owner *t = *state;

	client_says(t, GET);
	up_says(t, OK(9) "some");
	fd_close(take_fd(&t->client));
	wire_turns(t->l, 6);
	assert_true(wire_recv(t->up, &t->asked)); /* the upstream sees it */
	assert_string_equal(buf_cstr(&t->events), "body answer-200/9 left second gone");
}

static void a_client_that_leaves_before_it_is_connected(void **state)
{
	struct owner *t = *state;

	t->patient = true;
	client_says(t, GET);
	fd_close(take_fd(&t->client));
	wire_turns(t->l, 6);
	assert_string_equal(buf_cstr(&t->events), "body left second gone");
}

static void an_upstream_that_leaves_mid_answer_cuts_the_client_off(void **state)
{
	struct owner *t = *state;

	client_says(t, GET);
	up_says(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n");
	assert_true(ends_with(&t->got, "4\r\nhalf\r\n"));
	up_leaves(t);
	assert_true(wire_recv(t->client, &t->got));       /* closed, */
	assert_true(ends_with(&t->got, "4\r\nhalf\r\n")); /* ... and not ended */
	assert_string_equal(buf_cstr(&t->events), "body answer-200/-1 broke second lost-broken-cut gone");
}

static void an_owner_can_lose_the_upstream(void **state)
{
	struct owner *t = *state;

	client_says(t, GET);
	pump_reset(&t->pump);
	pump_lose(&t->pump, EHOSTDOWN);
	settle(t);
	assert_true(wire_recv(t->up, &t->asked));
	assert_string_equal(buf_cstr(&t->events), "body broke second lost-broken over");
	assert_true(has(&t->got, "HTTP/1.1 502 "));
}

static void an_answer_may_come_before_the_body_has_ended(void **state)
{
	struct owner *t = *state;

	client_says(t, "POST /x HTTP/1.1\r\nHost: c\r\nContent-Length: 4\r\n\r\nab");
	up_says(t, "HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n");
	assert_true(has(&t->got, "HTTP/1.1 413 "));
	assert_int_equal(t->kept, -1); /* a request is half sent on it */
	assert_true(wire_recv(t->up, &t->asked));
	client_says(t, "cd");
	assert_true(ends_with(&t->asked, "\r\n\r\nab"));
	assert_string_equal(buf_cstr(&t->events), "answer-413/0 done second end over");
}

static void nonsense_is_not_passed_on(void **state)
{
	struct owner *t = *state;

	t->bad_answer = true;
	client_says(t, GET);
	up_says(t, OK(0));
	assert_string_equal(buf_cstr(&t->events), "body answer-200/0 broke second lost-proto over");
	assert_true(has(&t->got, "HTTP/1.1 502 "));
}

static void a_connection_that_is_not_kept_is_not_given_back(void **state)
{
	struct owner *t = *state;

	client_says(t, GET);
	up_says(t, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
	assert_string_equal(buf_cstr(&t->events), "body answer-200/2 done second end over");
	assert_int_equal(t->kept, -1);
}

/* --- upgrades --- */

#define UPGRADE "GET /x HTTP/1.1\r\nHost: c\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
#define SWITCH "HTTP/1.1 101 Yes\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"

static void an_upgrade_hands_over_both_streams(void **state)
{
	struct owner *t = *state;

	client_says(t, UPGRADE "early");
	up_says(t, SWITCH "bird");
	assert_string_equal(buf_cstr(&t->got), "HTTP/1.1 101 Yes\r\n\r\n");
	assert_string_equal(buf_cstr(&t->early[0]), "early");
	assert_string_equal(buf_cstr(&t->early[1]), "bird");
	assert_string_equal(buf_cstr(&t->events), "body upgrade done second over");
	stream_write(t->tunnel[1], STR_LIT("up"));
	settle(t);
	assert_true(ends_with(&t->asked, "up"));
}

static void an_upgrade_that_was_not_asked_for_is_refused(void **state)
{
	struct owner *t = *state;

	client_says(t, GET);
	up_says(t, SWITCH);
	assert_string_equal(buf_cstr(&t->events), "body broke second lost-proto over");
}

static void an_upgrade_that_the_owner_does_not_do_is_refused(void **state)
{
	struct owner *t = *state;

	t->ops.on_upgrade = NULL;
	client_says(t, UPGRADE);
	up_says(t, SWITCH);
	assert_string_equal(buf_cstr(&t->events), "body broke second lost-proto over");
}

/* --- pace --- */

/* Sends while it can, and lets the loop run; how much went. */
static size_t push(struct owner *t, int fd, size_t n)
{
	static char some[32768];
	size_t sent = 0;

	for (int full = 0; full < 20 && sent < n;) {
		size_t now = n - sent < sizeof some ? n - sent : sizeof some;
		ssize_t r = send(fd, some, now, MSG_NOSIGNAL);

		sent += r > 0 ? (size_t)r : 0;
		full = r > 0 ? 0 : full + 1;
		wire_turn(t->l);
	}
	return sent;
}

static void read_on(struct owner *t, int fd, struct buf *to, int from, size_t left, size_t want)
{
	for (int i = 0; i < 100000 && to->n < want; i++) {
		(void)wire_recv(fd, to);
		left -= push(t, from, left < 32768 ? left : 32768);
	}
	assert_int_equal(left, 0);
	settle(t);
}

static void check_slow_client(struct owner *t)
{
	autobuf struct buf head = BUF_INIT(200);

	client_says(t, GET);
	buf_fmt(&head, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", MANY);
	wire_send(t->up, buf_view(&head));
	size_t went = push(t, t->up, MANY);

	assert_in_range(went, 1, MANY / 4); /* the queue of the client, and what the kernel holds */
	read_on(t, t->client, &t->got, t->up, MANY - went, MANY);
	assert_int_equal(t->pump.down, MANY);
	assert_true(has(&t->events, "done second end over"));
}

static void a_slow_client_slows_the_upstream(void **state)
{
	struct owner *t = *state;

	check_slow_client(t);
	assert_int_equal(t->seen_answer, MANY);
}

static void also_where_the_answer_is_moved(void **state)
{
	struct owner *t = *state;

	t->ops.splice = true;
	check_slow_client(t);
	assert_in_range(t->seen_answer, 1, MANY / 2); /* most of it went past */
}

static void but_an_observer_that_reads_sees_all_of_it(void **state)
{
	struct owner *t = *state;

	t->ops.splice = t->reads = true;
	check_slow_client(t);
	assert_int_equal(t->seen_answer, MANY);
}

static void check_slow_upstream(struct owner *t)
{
	autobuf struct buf head = BUF_INIT(200);

	buf_fmt(&head, "POST /x HTTP/1.1\r\nHost: c\r\nContent-Length: %d\r\n\r\n", MANY);
	wire_send(t->client, buf_view(&head));
	size_t went = push(t, t->client, MANY);

	assert_in_range(went, 1, MANY / 4);
	read_on(t, t->up, &t->asked, t->client, MANY - went, MANY);
	assert_int_equal(t->pump.up, MANY);
	assert_int_equal(t->seen_body + t->moved_body, MANY);
	up_says(t, OK(0));
	assert_string_equal(buf_cstr(&t->events), "body answer-200/0 done second end over");
}

static void a_slow_upstream_slows_the_client(void **state)
{
	struct owner *t = *state;

	check_slow_upstream(t);
	assert_int_equal(t->moved_body, 0);
}

static void also_where_the_body_is_moved(void **state)
{
	struct owner *t = *state;

	t->ops.splice = true;
	check_slow_upstream(t);
	assert_in_range(t->moved_body, MANY / 2, MANY);
}

static void but_one_that_reads_the_body_sees_all_of_it(void **state)
{
	struct owner *t = *state;

	t->ops.splice = t->reads = true;
	check_slow_upstream(t);
	assert_int_equal(t->moved_body, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_request_goes_up_and_its_answer_down),
		TEST(chunks_are_made_anew_both_ways),
		TEST(trailers_do_not_pass),
		TEST(a_body_is_asked_for_when_there_is_an_upstream),
		TEST(a_body_that_came_early_waits),
		TEST(a_dead_idle_connection_is_tried_again_once),
		TEST(the_second_try_is_answered_like_the_first),
		TEST(a_new_connection_that_dies_is_not_tried_again),
		TEST(nothing_is_tried_again_after_the_first_byte),
		TEST(nor_after_an_interim_answer),
		TEST(a_body_that_was_partly_sent_is_not_sent_again),
		TEST(who_has_no_second_connection_gives_up),
		TEST(a_client_that_leaves_takes_the_connection_along),
		TEST(a_client_that_leaves_before_it_is_connected),
		TEST(an_upstream_that_leaves_mid_answer_cuts_the_client_off),
		TEST(an_owner_can_lose_the_upstream),
		TEST(an_answer_may_come_before_the_body_has_ended),
		TEST(nonsense_is_not_passed_on),
		TEST(a_connection_that_is_not_kept_is_not_given_back),
		TEST(an_upgrade_hands_over_both_streams),
		TEST(an_upgrade_that_was_not_asked_for_is_refused),
		TEST(an_upgrade_that_the_owner_does_not_do_is_refused),
		TEST(a_slow_client_slows_the_upstream),
		TEST(also_where_the_answer_is_moved),
		TEST(but_an_observer_that_reads_sees_all_of_it),
		TEST(a_slow_upstream_slows_the_client),
		TEST(also_where_the_body_is_moved),
		TEST(but_one_that_reads_the_body_sees_all_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
