/* SPDX-License-Identifier: Apache-2.0 */
/* Units of egress/pass: what of HTTP goes on, and what is cut. */
#include <stdint.h>

#include <stdlib.h>
#include <string.h>

#include "../http/wire.h"
#include "egress/pass.h"
#include "loop/stream.h"
#include "unit.h"

static struct loop *l;
static int c[2], s[2], ends; /* the tests hold [0] */
static struct pass *p;
static bool available;
static struct buf got;

static const struct pass_fields token = { 1, { { { "Authorization", 13 }, { "Bearer s3cret", 13 } } } };

static const struct pass_fields *fields(void *user, bool *ret_ok)
{
	*ret_ok = available;
	return user;
}

static void on_end(void *user)
{
	(void)user;
	ends++;
	p = NULL;
}

static const struct pass_ops ops = { fields, on_end };
static const struct stream_ops none;

static int set_up(void **state)
{
	(void)state;
	l = loop_new();
	wire_pair(c);
	wire_pair(s);
	ends = 0;
	available = true;
	got = BUF_INIT(1 << 20);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	pass_free(take_ptr(&p));
	fd_close(c[0]);
	fd_close(s[0]);
	wire_turns(l, 3);
	loop_free(l);
	buf_done(&got);
	return 0;
}

static void start(const char *first, const struct pass_fields *set)
{
	p = pass_new(stream_new(l, c[1], &none, NULL), stream_new(l, s[1], &none, NULL), "a.com", str_of(first), &ops,
	    (void *)set);
	assert_non_null(p);
	pass_start(p);
	wire_turns(l, 5);
}

static void say(const char *text)
{
	wire_send(c[0], str_of(text));
	wire_turns(l, 5);
}

/* What the server has got so far is this. */
static void server_got(const char *want)
{
	(void)wire_recv(s[0], &got);
	assert_string_equal(got.n ? buf_cstr(&got) : "", want);
	buf_clear(&got);
}

static void requests_go_on_one_after_the_other(void **state)
{
	(void)state;
	start("GET /x HTTP/1.1\r\nHost: A.com\r\n", NULL);
	server_got("");
	say("Accept:  */* \r\n\r\nPOST /y HTTP/1.1\r\nhost: a.com:80\r\nContent-Length: 3\r\n\r\nabcPUT / "
	    "HTTP/1.1\r\nHost: a.com.\r\n"
	    "Transfer-Encoding: chunked\r\n\r\n3\r\nxyz\r\n0\r\n\r\n");
	server_got("GET /x HTTP/1.1\r\nHost: A.com\r\nAccept: */*\r\n\r\nPOST /y HTTP/1.1\r\nhost: "
		   "a.com:80\r\nContent-Length: 3\r\n\r\nabc"
		   "PUT / HTTP/1.1\r\nHost: a.com.\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nxyz\r\n0\r\n\r\n");
	assert_int_equal(ends, 0);
}

static void a_request_for_another_host_cuts_the_connection(void **state)
{
	(void)state;
	start("GET / HTTP/1.1\r\nHost: a.com\r\n\r\n", NULL);
	say("GET / HTTP/1.1\r\nHost: evil.com\r\n\r\n");
	server_got("GET / HTTP/1.1\r\nHost: a.com\r\n\r\n");
	assert_int_equal(ends, 1);
}

static void what_two_readers_could_read_differently_is_cut(void **state)
{
	static const char *const bad[] = {
		"GET / HTTP/1.1\r\nHost: a.com\r\nHost: evil.com\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: evil.com\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: 1.2.3.4\r\n\r\n",
		"GET / HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.0\r\n\r\n",
		"GET http://evil.com/ HTTP/1.1\r\nHost: a.com\r\n\r\n",
		"GET http://a.com@evil.com/ HTTP/1.1\r\nHost: a.com\r\n\r\n",
		"CONNECT a.com:443 HTTP/1.1\r\nHost: a.com\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a.com\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a.com\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
		"GET / HTTP/1.1\r\nHost : a.com\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a.com\r\n X: y\r\n\r\n",
		"GET / HTTP/1.1\nHost: a.com\n\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		start(bad[i], NULL);
		assert_int_equal(ends, 1);
		server_got("");
		(void)tear_down(NULL);
		(void)set_up(NULL);
	}
}

static void fields_are_set_in_place_of_what_was_there(void **state)
{
	(void)state;
	start("GET / HTTP/1.1\r\nHost: a.com\r\nauthorization: Bearer placeholder\r\nX: y\r\n\r\n", &token);
	server_got("GET / HTTP/1.1\r\nHost: a.com\r\nX: y\r\nAuthorization: Bearer s3cret\r\n\r\n");
	available = false;
	say("GET / HTTP/1.1\r\nHost: a.com\r\n\r\n");
	server_got("");
	assert_int_equal(ends, 1);
}

/* W10: the answer to TRACE is the request. */
static void nothing_is_set_in_what_comes_back(void **state)
{
	(void)state;
	start("TRACE / HTTP/1.1\r\nHost: a.com\r\nAuthorization: mine\r\n\r\n", &token);
	server_got("TRACE / HTTP/1.1\r\nHost: a.com\r\nAuthorization: mine\r\n\r\n");
	say("GET / HTTP/1.1\r\nHost: a.com\r\n\r\n");
	server_got("GET / HTTP/1.1\r\nHost: a.com\r\nAuthorization: Bearer s3cret\r\n\r\n");
}

static void answers_come_back_as_they_are(void **state)
{
	(void)state;
	start("GET / HTTP/1.1\r\nHost: a.com\r\n\r\n", NULL);
	wire_send(s[0], STR_LIT("whatever it says\r\n"));
	wire_turns(l, 3);
	(void)wire_recv(c[0], &got);
	assert_string_equal(buf_cstr(&got), "whatever it says\r\n");
	fd_close(take_fd(&s[0]));
	wire_turns(l, 3);
	buf_clear(&got);
	assert_true(wire_recv(c[0], &got));
}

static void an_upgrade_that_is_taken_opens_a_tunnel(void **state)
{
	(void)state;
	start("GET /ws HTTP/1.1\r\nHost: a.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", NULL);
	server_got("GET /ws HTTP/1.1\r\nHost: a.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
	say("early");
	server_got(""); /* not before the server has agreed */
	wire_send(s[0], STR_LIT("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\nfirst"));
	wire_turns(l, 5);
	(void)wire_recv(c[0], &got);
	assert_string_equal(buf_cstr(&got), "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\nfirst");
	buf_clear(&got);
	server_got("early");
	say("\x81\x05hello");
	server_got("\x81\x05hello");
}

static void an_upgrade_that_is_not_taken_is_the_last_request(void **state)
{
	(void)state;
	start("GET /ws HTTP/1.1\r\nHost: a.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nGET / "
	      "HTTP/1.1\r\nHost: evil.com\r\n\r\n",
	    NULL);
	server_got("GET /ws HTTP/1.1\r\nHost: a.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
	wire_send(s[0], STR_LIT("HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\nno"));
	wire_turns(l, 5);
	(void)wire_recv(c[0], &got);
	assert_string_equal(buf_cstr(&got), "HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\nno");
	buf_clear(&got);
	server_got("");
}

/* From the second piece on they are moved past us, until there is an answer that has to be read. */
static void large_answers_come_back_whole_and_an_upgrade_is_seen_behind_them(void **state)
{
	static char piece[64 * 1024], want[8 * sizeof piece];

	(void)state;
	start("GET / HTTP/1.1\r\nHost: a.com\r\n\r\n", NULL);
	for (size_t i = 0; i < 8; i++) {
		for (size_t k = 0; k < sizeof piece; k++)
			want[i * sizeof piece + k] = piece[k] = (char)(i * 31 + k % 251);
		wire_send(s[0], (struct str) { piece, sizeof piece });
		wire_turns(l, 5);
		if (i != 3) /* somewhere the client is slow */
			(void)wire_recv(c[0], &got);
	}
	assert_int_equal(got.n, sizeof want);
	assert_memory_equal(got.p, want, sizeof want);
	buf_clear(&got);
	server_got("GET / HTTP/1.1\r\nHost: a.com\r\n\r\n");
	say("GET /ws HTTP/1.1\r\nHost: a.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
	buf_clear(&got);
	say("early");
	wire_send(s[0], STR_LIT("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\nfirst"));
	wire_turns(l, 5);
	(void)wire_recv(c[0], &got);
	assert_string_equal(buf_cstr(&got), "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\nfirst");
	buf_clear(&got);
	server_got("GET /ws HTTP/1.1\r\nHost: a.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nearly");
}

static void http2_is_not_offered_on(void **state)
{
	(void)state;
	start("GET / HTTP/1.1\r\nHost: a.com\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: "
	      "AAMAAABk\r\n\r\n",
	    NULL);
	server_got("GET / HTTP/1.1\r\nHost: a.com\r\nConnection: Upgrade, HTTP2-Settings\r\n\r\n");
	say("GET /2 HTTP/1.1\r\nHost: a.com\r\n\r\n");
	server_got("GET /2 HTTP/1.1\r\nHost: a.com\r\n\r\n");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(requests_go_on_one_after_the_other),
		CASE(a_request_for_another_host_cuts_the_connection),
		CASE(what_two_readers_could_read_differently_is_cut),
		CASE(fields_are_set_in_place_of_what_was_there),
		CASE(nothing_is_set_in_what_comes_back),
		CASE(answers_come_back_as_they_are),
		CASE(an_upgrade_that_is_taken_opens_a_tunnel),
		CASE(an_upgrade_that_is_not_taken_is_the_last_request),
		CASE(large_answers_come_back_whole_and_an_upgrade_is_seen_behind_them),
		CASE(http2_is_not_offered_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
