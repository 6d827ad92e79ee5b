/* SPDX-License-Identifier: Apache-2.0 */
/* Units of http/server: what goes over the wire, and when a handler is called. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/server.h"
#include "loop/stream.h"
#include "unit.h"
#include "wire.h"

struct site {
	struct loop *l;
	struct http_server *server;
	int fd; /* the client's end */
	struct buf got, body;
	int requests, body_ends, drains, closes, losts;
	struct http_req *held; /* request of /hold */
	int taken;             /* fd of a hijack */
	struct buf early;
};

static void on_body(struct http_req *rq, struct str data)
{
	struct site *t = rq->user;

	buf_str(&t->body, data);
}

static void on_body_end(struct http_req *rq)
{
	struct site *t = rq->user;

	t->body_ends++;
	if (str_is(rq->path, "/echo"))
		http_respond(rq, 200, "text/plain", NULL, buf_view(&t->body));
}

static void on_drain(struct http_req *rq)
{
	struct site *t = rq->user;

	t->drains++;
}

static void on_close(struct http_req *rq, bool lost)
{
	struct site *t = rq->user;

	t->closes++;
	t->losts += lost;
	if (t->held == rq)
		t->held = NULL;
	http_respond(rq, 500, NULL, NULL, STR_LIT("too late")); /* must be harmless */
	http_abort(rq);
}

static const struct http_req_ops req_ops = {
	.on_body = on_body,
	.on_body_end = on_body_end,
	.on_drain = on_drain,
	.on_close = on_close,
};

static void on_request(void *user, struct http_req *rq)
{
	struct site *t = user;

	t->requests++;
	rq->ops = &req_ops;
	rq->user = t;
	if (str_is(rq->path, "/hello")) {
		http_respond(rq, 200, "text/plain", "X-A: b\r\n", STR_LIT("hi"));
	} else if (str_is(rq->path, "/none")) {
		http_respond(rq, 204, NULL, NULL, STR_LIT(""));
	} else if (str_is(rq->path, "/pieces")) {
		http_begin(rq, 200, NULL, NULL, -1);
		http_write(rq, STR_LIT("one"));
		http_write(rq, STR_LIT(""));
		http_write(rq, STR_LIT("two"));
		http_end(rq);
	} else if (str_is(rq->path, "/short")) {
		http_begin(rq, 200, NULL, NULL, 10);
		http_write(rq, STR_LIT("one"));
		http_end(rq);
	} else if (str_is(rq->path, "/long")) {
		http_begin(rq, 200, NULL, NULL, 2);
		http_write(rq, STR_LIT("one"));
		http_end(rq);
	} else if (str_is(rq->path, "/abort")) {
		http_abort(rq);
		http_respond(rq, 200, NULL, NULL, STR_LIT("never"));
	} else if (str_is(rq->path, "/hold")) {
		t->held = rq;
	} else if (str_is(rq->path, "/pause")) {
		http_body_want(rq, false);
		t->held = rq;
	} else if (rq->upgrade) {
		struct stream *s;

		assert_int_equal(http_hijack(rq, STR_LIT("HTTP/1.1 101 Switching Protocols\r\n\r\n"), &s, &t->early),
		    0);
		t->taken = stream_take_fd(s);
		assert_int_equal(http_hijack(rq, STR_LIT(""), &s, &t->early), -EPIPE);
	} else if (str_is(rq->path, "/free")) {
		http_server_free(t->server);
		t->server = NULL;
	}
}

static const struct http_server_ops server_ops = { .on_request = on_request };

static void client_new(struct site *t)
{
	int sv[2];

	wire_pair(sv);
	fd_close(t->fd);
	t->fd = sv[1];
	assert_int_equal(http_server_adopt(t->server, sv[0]), 0);
}

static int set_up(void **state)
{
	struct site *t = calloc(1, sizeof *t);

	t->l = loop_new();
	t->fd = t->taken = -1;
	t->got = t->body = t->early = BUF_INIT(64 << 20);
	t->server = http_server_new(t->l, -1, &server_ops, t);
	client_new(t);
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	struct site *t = *state;

	http_server_free(t->server);
	assert_int_equal(t->closes, t->requests);
	fd_close(t->fd);
	fd_close(t->taken);
	wire_turns(t->l, 3);
	loop_free(t->l);
	buf_done(&t->got);
	buf_done(&t->body);
	buf_done(&t->early);
	free(t);
	return 0;
}

/* Sends, lets the server work, gives back what came as text. */
static const char *ask(struct site *t, struct str bytes, bool *ret_closed)
{
	wire_send(t->fd, bytes);
	wire_turns(t->l, 6);
	buf_clear(&t->got);
	bool closed = wire_recv(t->fd, &t->got);

	if (ret_closed)
		*ret_closed = closed;
	return buf_cstr(&t->got);
}

#define HOST "Host: x\r\n"
#define HI "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nX-A: b\r\n\r\nhi"

static void connections_are_kept(void **state)
{
	bool closed;

	assert_string_equal(ask(*state, STR_LIT("GET /hello HTTP/1.1\r\n" HOST "\r\n"), &closed), HI);
	assert_false(closed);
	assert_string_equal(ask(*state, STR_LIT("GET /hello?x HTTP/1.1\r\n" HOST "\r\n"), &closed), HI);
	assert_false(closed);
	assert_string_equal(ask(*state, STR_LIT("GET /none HTTP/1.1\r\n" HOST "\r\n"), &closed),
	    "HTTP/1.1 204 No Content\r\n\r\n");
	assert_false(closed);
}

static void requests_may_be_pipelined(void **state)
{
	struct site *t = *state;

	assert_string_equal(ask(t,
				STR_LIT("GET /hello HTTP/1.1\r\n" HOST "\r\n"
					"POST /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc"
					"\r\nGET /hello HTTP/1.1\r\n" HOST "\r\n"),
				NULL),
	    HI "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nabc" HI);
	assert_int_equal(t->closes, 3);
	assert_int_equal(t->losts, 0);
}

static void pipelined_requests_wait_for_the_answer_before(void **state)
{
	struct site *t = *state;

	assert_string_equal(
	    ask(t, STR_LIT("GET /hold HTTP/1.1\r\n" HOST "\r\nGET /hello HTTP/1.1\r\n" HOST "\r\n"), NULL), "");
	assert_int_equal(t->requests, 1);
	http_respond(t->held, 200, NULL, NULL, STR_LIT("x"));
	assert_int_equal(t->closes, 0); /* never from inside */
	assert_string_equal(ask(t, STR_LIT(""), NULL), "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx" HI);
	assert_int_equal(t->requests, 2);
}

static void a_head_may_come_byte_by_byte(void **state)
{
	struct site *t = *state;
	struct str rest = STR_LIT(
	    "\r\nPOST /echo HTTP/1.1\r\n" HOST
	    "Transfer-Encoding: chunked\r\n\r\n3;x=\"y\"\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\nT: v\r\n\r\n");

	for (; rest.n > 1; str_skip(&rest, 1))
		assert_string_equal(ask(t, (struct str) { rest.p, 1 }, NULL), "");
	assert_string_equal(ask(t, rest, NULL),
	    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 19\r\n\r\nabc0123456789abcdef");
	assert_int_equal(t->body_ends, 1);
}

static void head_requests_get_no_body(void **state)
{
	assert_string_equal(ask(*state, STR_LIT("HEAD /hello HTTP/1.1\r\n" HOST "\r\n"), NULL),
	    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nX-A: b\r\n\r\n");
	assert_string_equal(ask(*state, STR_LIT("HEAD /pieces HTTP/1.1\r\n" HOST "\r\n"), NULL),
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
	assert_string_equal(ask(*state, STR_LIT("HEAD /short HTTP/1.1\r\n" HOST "\r\n"), NULL),
	    "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n");
	assert_string_equal(ask(*state, STR_LIT("GET /hello HTTP/1.1\r\n" HOST "\r\n"), NULL), HI);
}

static void answers_in_pieces_are_chunked(void **state)
{
	assert_string_equal(ask(*state, STR_LIT("GET /pieces HTTP/1.1\r\n" HOST "\r\n"), NULL),
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n");
}

static void http_1_0_is_understood(void **state)
{
	struct site *t = *state;
	bool closed;

	assert_string_equal(ask(t, STR_LIT("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"), &closed),
	    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: keep-alive\r\nX-A: "
	    "b\r\n\r\nhi");
	assert_false(closed);
	assert_string_equal(ask(t, STR_LIT("GET /pieces HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"), &closed),
	    "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nonetwo");
	assert_true(closed);
}

static void close_is_honoured(void **state)
{
	bool closed;

	(void)ask(*state,
	    STR_LIT("GET /hello HTTP/1.1\r\n" HOST "Connection: close\r\n\r\nGET /hello HTTP/1.1\r\n\r\n"), &closed);
	assert_true(closed);
	assert_int_equal(((struct site *)*state)->requests, 1);
}

static void continue_is_sent_when_the_body_is_wanted(void **state)
{
	struct site *t = *state;

	assert_string_equal(
	    ask(t, STR_LIT("POST /echo HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"), NULL),
	    "HTTP/1.1 100 Continue\r\n\r\n");
	assert_string_equal(ask(t, STR_LIT("ab"), NULL),
	    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nab");
	assert_string_equal(
	    ask(t, STR_LIT("POST /pause HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"), NULL),
	    "");
	http_body_want(t->held, true);
	assert_string_equal(ask(t, STR_LIT(""), NULL), "HTTP/1.1 100 Continue\r\n\r\n");
}

static void an_early_answer_ends_the_expectation(void **state)
{
	bool closed;

	assert_string_equal(
	    ask(*state, STR_LIT("POST /hello HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"),
		&closed),
	    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\nX-A: "
	    "b\r\n\r\nhi");
	assert_true(closed);
}

static void unwanted_bodies_are_skipped(void **state)
{
	struct site *t = *state;

	assert_string_equal(ask(t,
				STR_LIT("POST /hello HTTP/1.1\r\n" HOST
					"Content-Length: 4\r\n\r\nGET GET /hello HTTP/1.1\r\n" HOST "\r\n"),
				NULL),
	    HI HI);
	assert_int_equal(t->body.n, 0);
	assert_int_equal(t->body_ends, 0);
	assert_int_equal(t->closes, 2);
}

static void huge_unwanted_bodies_end_the_connection(void **state)
{
	bool closed;

	(void)ask(*state, STR_LIT("POST /hello HTTP/1.1\r\n" HOST "Content-Length: 99999999999\r\n\r\nabc"), &closed);
	assert_true(closed);
}

static void a_paused_body_stays_with_the_peer(void **state)
{
	struct site *t = *state;
	static char block[65536];
	size_t sent = 0;

	(void)ask(t, STR_LIT("POST /pause HTTP/1.1\r\n" HOST "Content-Length: 100000000\r\n\r\n"), NULL);
	for (int i = 0; i < 200; i++) {
		ssize_t n = send(t->fd, block, sizeof block, MSG_NOSIGNAL);

		sent += n > 0 ? (size_t)n : 0;
		wire_turn(t->l);
	}
	assert_in_range(sent, 1, 2 << 20); /* the socket's own buffers, no more */
	assert_int_equal(t->body.n, 0);
	http_body_want(t->held, true);
	assert_int_equal(t->body.n, 0); /* never from inside */
	wire_turns(t->l, 100);
	assert_int_equal(t->body.n, sent);
}

static void an_abort_cuts_the_answer(void **state)
{
	struct site *t = *state;
	bool closed;

	assert_string_equal(ask(t, STR_LIT("GET /abort HTTP/1.1\r\n" HOST "\r\n"), &closed), "");
	assert_true(closed);
	assert_int_equal(t->losts, 1);
	client_new(t);
	assert_string_equal(ask(t, STR_LIT("GET /hold HTTP/1.1\r\n" HOST "\r\n"), &closed), "");
	http_begin(t->held, 200, NULL, NULL, -1);
	http_write(t->held, STR_LIT("x"));
	http_abort(t->held);
	http_write(t->held, STR_LIT("y"));
	assert_int_equal(t->closes, 1); /* deferred */
	assert_string_equal(ask(t, STR_LIT(""), &closed),
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n");
	assert_true(closed);
	assert_int_equal(t->losts, 2);
}

static void announced_lengths_are_kept_or_cut(void **state)
{
	struct site *t = *state;
	bool closed;

	assert_string_equal(ask(t, STR_LIT("GET /long HTTP/1.1\r\n" HOST "\r\n"), &closed),
	    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\non");
	assert_false(closed);
	assert_string_equal(ask(t, STR_LIT("GET /short HTTP/1.1\r\n" HOST "\r\n"), &closed),
	    "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\none");
	assert_true(closed);
	assert_int_equal(t->losts, 1);
}

static void a_peer_that_leaves_is_noticed(void **state)
{
	struct site *t = *state;

	(void)ask(t, STR_LIT("GET /hold HTTP/1.1\r\n" HOST "\r\n"), NULL);
	fd_close(take_fd(&t->fd));
	wire_turns(t->l, 3);
	assert_int_equal(t->losts, 1);
	assert_int_equal(http_server_conns(t->server), 0);
	client_new(t);
	(void)ask(t, STR_LIT("POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nab"), NULL);
	fd_close(take_fd(&t->fd));
	wire_turns(t->l, 3);
	assert_int_equal(t->losts, 2);
	assert_int_equal(t->body_ends, 1); /* of /hold only */
}

static void a_tunnel_gets_the_bytes_behind_the_head(void **state)
{
	struct site *t = *state;
	char z[8] = "";

	assert_string_equal(
	    ask(t, STR_LIT("GET /ws HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\nearly"), NULL),
	    "HTTP/1.1 101 Switching Protocols\r\n\r\n");
	assert_true(str_is(buf_view(&t->early), "early"));
	assert_int_equal(t->closes, 1);
	assert_int_equal(t->losts, 0);
	assert_int_equal(http_server_conns(t->server), 0);
	wire_send(t->fd, STR_LIT("late"));
	assert_int_equal(read(t->taken, z, sizeof z), 4);
	client_new(t);
	fd_close(t->taken);
	(void)ask(t, STR_LIT("CONNECT x:80 HTTP/1.1\r\n" HOST "\r\n"), NULL);
	assert_int_equal(t->losts, 0);
}

static void a_slow_reader_holds_back_the_writer(void **state)
{
	struct site *t = *state;
	static char block[65536];
	size_t written = 0;

	(void)ask(t, STR_LIT("GET /hold HTTP/1.1\r\n" HOST "\r\n"), NULL);
	http_begin(t->held, 200, NULL, NULL, -1);
	while (http_queued(t->held) <= STREAM_HIGH) {
		http_write(t->held, (struct str) { block, sizeof block });
		written += sizeof block;
		wire_turn(t->l);
		assert_in_range(written, 0, 4 << 20);
	}
	assert_int_equal(t->drains, 0);
	for (int i = 0; i < 50 && !t->drains; i++) {
		wire_turn(t->l);
		(void)wire_recv(t->fd, &t->got);
	}
	assert_int_equal(t->drains, 1);
	assert_in_range(http_queued(t->held), 0, STREAM_LOW);
}

static void a_peer_that_never_listens_is_not_served_on(void **state)
{
	struct site *t = *state;
	autobuf struct buf flood = BUF_INIT(64 << 20);

	for (int i = 0; i < 1000; i++)
		buf_z(&flood, "GET /hello HTTP/1.1\r\n" HOST "\r\n");
	size_t total = 0;
	for (int i = 0; i < 1000; i++) {
		size_t at = total % flood.n;
		ssize_t n = send(t->fd, flood.p + at, flood.n - at, MSG_NOSIGNAL);

		total += n > 0 ? (size_t)n : 0;
		wire_turn(t->l);
	}
	assert_in_range(t->requests, 1000, 30000);
	assert_in_range(total, 0, 2 << 20);
}

static void freeing_the_server_ends_all_requests(void **state)
{
	struct site *t = *state;

	(void)ask(t, STR_LIT("GET /hold HTTP/1.1\r\n" HOST "\r\n"), NULL);
	http_server_free(take_ptr(&t->server));
	assert_int_equal(t->losts, 1);
}

static void the_server_may_be_freed_by_a_handler(void **state)
{
	struct site *t = *state;
	bool closed;

	(void)ask(t, STR_LIT("GET /free HTTP/1.1\r\n" HOST "\r\nGET /hello HTTP/1.1\r\n" HOST "\r\n"), &closed);
	assert_true(closed);
	assert_int_equal(t->requests, 1);
	assert_int_equal(t->losts, 1);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(connections_are_kept),
		CASE(requests_may_be_pipelined),
		CASE(pipelined_requests_wait_for_the_answer_before),
		CASE(a_head_may_come_byte_by_byte),
		CASE(head_requests_get_no_body),
		CASE(answers_in_pieces_are_chunked),
		CASE(http_1_0_is_understood),
		CASE(close_is_honoured),
		CASE(continue_is_sent_when_the_body_is_wanted),
		CASE(an_early_answer_ends_the_expectation),
		CASE(unwanted_bodies_are_skipped),
		CASE(huge_unwanted_bodies_end_the_connection),
		CASE(a_paused_body_stays_with_the_peer),
		CASE(an_abort_cuts_the_answer),
		CASE(announced_lengths_are_kept_or_cut),
		CASE(a_peer_that_leaves_is_noticed),
		CASE(a_tunnel_gets_the_bytes_behind_the_head),
		CASE(a_slow_reader_holds_back_the_writer),
		CASE(a_peer_that_never_listens_is_not_served_on),
		CASE(freeing_the_server_ends_all_requests),
		CASE(the_server_may_be_freed_by_a_handler),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
