/* SPDX-License-Identifier: Apache-2.0 */
/* Units of handing connections over: from a server on one loop to a server on another one. The "other thread" is this
 * one: its loop runs when it is its turn. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "http/h2.h"
#include "http/server.h"
#include "unit.h"
#include "wire.h"

#define HEAD(path) "POST " path " HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n"
#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

struct place {
	struct world *w;
	struct loop *l;
	struct http_server *server;
	const char *prefix; /* paths that it serves */
	struct buf body;
	int requests, closes;
	bool refused; /* the last hand-over was not possible */
};

struct world {
	struct place a, b;
	struct http_handed on_way; /* of the last one */
	int handed;
	struct place *to;
	int client;
	struct buf got;
};

static void on_body(struct http_req *rq, struct str data)
{
	struct place *p = rq->user;

	buf_str(&p->body, data);
}

static void on_body_end(struct http_req *rq)
{
	struct place *p = rq->user;

	http_respond(rq, 200, "text/plain", NULL, str_of(p->prefix));
}

static void on_close(struct http_req *rq, bool lost)
{
	struct place *p = rq->user;

	(void)lost;
	p->closes++;
}

static const struct http_req_ops req_ops = { .on_body = on_body, .on_body_end = on_body_end, .on_close = on_close };

static void on_request(void *user, struct http_req *rq)
{
	struct place *p = user;

	p->requests++;
	p->refused = false;
	if (!str_starts(rq->path, p->prefix)) {
		p->refused = !http_hand_over(rq, p == &p->w->a ? &p->w->b : &p->w->a);
		if (!p->refused)
			return;
	}
	rq->user = p;
	rq->ops = &req_ops;
}

static const struct http_server_ops ops = { .on_request = on_request };

static void on_handed(void *user, struct http_handed *h, void *to)
{
	struct place *p = user;

	p->w->on_way = *h;
	p->w->to = to;
	p->w->handed++;
}

static void place_init(struct world *w, struct place *p, const char *prefix)
{
	p->w = w;
	p->prefix = prefix;
	p->body = BUF_INIT(1 << 20);
	p->l = loop_new();
	p->server = http_server_new(p->l, -1, &ops, p);
	assert_non_null(p->server);
	http_server_hands(p->server, on_handed, p, UINT_MAX, false);
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof *w);
	int sv[2];

	place_init(w, &w->a, "/a");
	place_init(w, &w->b, "/b");
	w->got = BUF_INIT(1 << 20);
	wire_pair(sv);
	w->client = sv[0];
	assert_int_equal(http_server_adopt(w->a.server, sv[1]), 0);
	*state = w;
	return 0;
}

static void place_done(struct place *p)
{
	http_server_free(p->server);
	wire_turns(p->l, 3);
	loop_free(p->l);
	buf_done(&p->body);
}

static int tear_down(void **state)
{
	struct world *w = *state;

	place_done(&w->a);
	place_done(&w->b);
	fd_close(w->client);
	buf_done(&w->got);
	free(w);
	return 0;
}

static void take(struct world *w)
{
	struct place *p = w->to ? w->to : &w->b;

	assert_int_equal(http_server_take(p->server, &w->on_way), 0);
	wire_turns(p->l, 3);
}

static void expect(struct world *w, const char *end)
{
	size_t n = strlen(end);

	(void)wire_recv(w->client, &w->got);
	assert_true(w->got.n > n);
	assert_memory_equal(w->got.p + w->got.n - n, end, n);
	buf_clear(&w->got);
}

static void a_request_leaves_with_its_connection(void **state)
{
	struct world *w = *state;

	wire_send(w->client, STR_LIT(HEAD("/b") "bo"));
	wire_turns(w->a.l, 3);
	assert_int_equal(w->handed, 1);
	assert_int_equal(http_server_conns(w->a.server), 0);
	assert_int_equal(w->a.closes, 0);
	wire_send(w->client, STR_LIT("dy"));
	take(w);
	expect(w, "/b");
	assert_memory_equal(w->b.body.p, "body", 4);
	assert_int_equal(http_server_conns(w->b.server), 1);
	wire_send(w->client, STR_LIT(HEAD("/b") "more")); /* it is kept */
	wire_turns(w->b.l, 3);
	expect(w, "/b");
}

static void it_comes_back(void **state)
{
	struct world *w = *state;

	wire_send(w->client, STR_LIT(HEAD("/a") "body"));
	wire_turns(w->a.l, 3);
	expect(w, "/a");
	for (int i = 0; i < 3; i++) {
		wire_send(w->client, STR_LIT(HEAD("/b") "body"));
		wire_turns(w->a.l, 3);
		take(w);
		expect(w, "/b");
		wire_send(w->client, STR_LIT(HEAD("/a") "body"));
		wire_turns(w->b.l, 3);
		take(w);
		expect(w, "/a");
	}
	assert_int_equal(w->handed, 6);
}

static void a_request_that_has_moved_enough_is_served(void **state)
{
	struct world *w = *state;

	wire_send(w->client, STR_LIT(HEAD("/b") "body"));
	wire_turns(w->a.l, 3);
	w->b.prefix = "/other";
	http_server_hands(w->b.server, on_handed, &w->b, 1, false);
	take(w);
	assert_true(w->b.refused);
	expect(w, "/other");
	wire_send(w->client, STR_LIT(HEAD("/a") "body")); /* the next one may leave */
	wire_turns(w->b.l, 3);
	assert_false(w->b.refused);
	take(w);
	expect(w, "/a");
}

static void pipelined_requests_keep_their_order(void **state)
{
	struct world *w = *state;

	wire_send(w->client, STR_LIT(HEAD("/a") "body" HEAD("/b") "body" HEAD("/a") "body"));
	wire_turns(w->a.l, 3);
	expect(w, "/a");
	take(w);
	expect(w, "/b");
	take(w);
	expect(w, "/a");
	assert_int_equal(w->handed, 2);
}

static void a_connection_of_http2_leaves_at_once(void **state)
{
	struct world *w = *state;

	http_server_hands(w->a.server, on_handed, &w->a, UINT_MAX, true);
	http_server_h2(w->b.server);
	wire_send(w->client, STR_LIT(PREFACE));
	wire_turns(w->a.l, 3);
	assert_int_equal(w->handed, 1);
	assert_int_equal(w->a.requests, 0);
	take(w);
	(void)wire_recv(w->client, &w->got);
	assert_true(w->got.n >= 9 && w->got.p[3] == 4); /* SETTINGS */
	buf_clear(&w->got);
}

static void a_client_that_leaves_meanwhile_is_noticed(void **state)
{
	struct world *w = *state;

	wire_send(w->client, STR_LIT(HEAD("/b") "bo"));
	wire_turns(w->a.l, 3);
	fd_close(take_fd(&w->client));
	take(w);
	assert_int_equal(w->b.closes, 1);
	assert_int_equal(http_server_conns(w->b.server), 0);
}

static void a_connection_that_nobody_takes_is_closed(void **state)
{
	struct world *w = *state;

	wire_send(w->client, STR_LIT(HEAD("/b") "body"));
	wire_turns(w->a.l, 3);
	http_handed_drop(&w->on_way);
	assert_true(wire_recv(w->client, &w->got));
}

static void a_server_may_end_while_a_connection_leaves(void **state)
{
	struct world *w = *state;

	wire_send(w->client, STR_LIT(HEAD("/b") "body"));
	loop_defer(w->a.l, wire_stop, w->a.l); /* before the second half of leaving */
	loop_run(w->a.l);
	http_server_free(take_ptr(&w->a.server));
	wire_turns(w->a.l, 3);
	if (w->handed)
		http_handed_drop(&w->on_way);
	assert_true(wire_recv(w->client, &w->got));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_request_leaves_with_its_connection),
		CASE(it_comes_back),
		CASE(a_request_that_has_moved_enough_is_served),
		CASE(pipelined_requests_keep_their_order),
		CASE(a_connection_of_http2_leaves_at_once),
		CASE(a_client_that_leaves_meanwhile_is_noticed),
		CASE(a_connection_that_nobody_takes_is_closed),
		CASE(a_server_may_end_while_a_connection_leaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
