/* SPDX-License-Identifier: Apache-2.0 */
/* Units of http/message, through a server: each shape that two readers could take for different requests
 * is refused, the connection is closed, and nothing behind it is read. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/server.h"
#include "unit.h"
#include "wire.h"

#define ANSWER_MAX 65536

static int requests;

static void on_body_end(struct http_req *rq)
{
	http_respond(rq, 200, NULL, NULL, STR_LIT("ok"));
}

static const struct http_req_ops req_ops = { .on_body_end = on_body_end };

static void on_request(void *user, struct http_req *rq)
{
	(void)user;
	requests++;
	rq->ops = &req_ops;
}

static const struct http_server_ops server_ops = { .on_request = on_request };

/* What the server answers to these bytes, sent `step` at a time; and whether it then closes. */
static int answer_to(struct str bytes, size_t step, bool *ret_closed)
{
	struct loop *l = loop_new();
	struct http_server *s = http_server_new(l, -1, &server_ops, NULL);
	autobuf struct buf got = BUF_INIT(1 << 20);
	int sv[2], status = 0;

	requests = 0;
	wire_pair(sv);
	assert_int_equal(http_server_adopt(s, sv[0]), 0);
	while (bytes.n) {
		size_t n = step < bytes.n ? step : bytes.n;

		(void)!send(sv[1], bytes.p, n, MSG_NOSIGNAL); /* it may have closed already */
		str_skip(&bytes, n);
		wire_turns(l, 2);
	}
	wire_turns(l, 4);
	*ret_closed = wire_recv(sv[1], &got);
	(void)sscanf(buf_cstr(&got), "HTTP/1.1 %d ", &status);
	fd_close(sv[1]);
	wire_turns(l, 2);
	http_server_free(s);
	loop_free(l);
	return status;
}

static void refused(int status, struct str bytes)
{
	static const size_t steps[] = { ANSWER_MAX, 1, 7 };

	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		bool closed;
		int got = answer_to(bytes, steps[i], &closed);

		if (got != status || !closed)
			print_error("answered %d, closed %d: %.*s\n", got, closed, STR_ARG(bytes));
		assert_int_equal(got, status);
		assert_true(closed);
		assert_in_range(requests, 0, 1);
	}
}

static void taken(struct str bytes)
{
	bool closed;
	int got = answer_to(bytes, ANSWER_MAX, &closed);

	if (got != 200)
		print_error("answered %d: %.*s\n", got, STR_ARG(bytes));
	assert_int_equal(got, 200);
	assert_false(closed);
}

#define GET "GET / HTTP/1.1\r\n"
#define POST "POST / HTTP/1.1\r\n"
#define HOST "Host: x\r\n"
#define NEXT "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"

static void well_formed_heads_are_taken(void **state)
{
	(void)state;
	taken(STR_LIT(GET HOST "\r\n"));
	taken(STR_LIT(GET "Host:x\r\nA:\r\nB: \t \r\nC:\tv w \t\r\nD: \xc3\xa4\r\n\r\n"));
	taken(STR_LIT("GET /a%20b?c=d&e=%2F#f HTTP/1.1\r\n" HOST "\r\n"));
	taken(STR_LIT("OPTIONS * HTTP/1.1\r\n" HOST "\r\n"));
	taken(STR_LIT("GET http://x/y HTTP/1.1\r\n" HOST "\r\n"));
	taken(STR_LIT(POST HOST "Content-Length: 0\r\n\r\n"));
	taken(STR_LIT(POST HOST "Content-Length: 3\r\n\r\nabc"));
	taken(STR_LIT(POST HOST "Transfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"));
	taken(STR_LIT(POST HOST "Transfer-Encoding: chunked\r\n\r\n00003;c=\"d e\"\r\nabc\r\n0\r\nX: y\r\n\r\n"));
	taken(STR_LIT("DELETE / HTTP/1.1\r\n" HOST "Connection: keep-alive, x\r\n\r\n"));
}

static void two_lengths_are_refused(void **state)
{
	(void)state;
	refused(400, STR_LIT(POST HOST "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc" NEXT));
	refused(400, STR_LIT(POST HOST "Content-Length: 3\r\ncontent-length: 40\r\n\r\nabc" NEXT));
	refused(400, STR_LIT(POST HOST "Content-Length: 3, 3\r\n\r\nabc" NEXT));
	refused(400, STR_LIT(POST HOST "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" NEXT));
	refused(400, STR_LIT(POST HOST "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n" NEXT));
	refused(400, STR_LIT(POST HOST "Transfer-Encoding: identity\r\nContent-Length: 3\r\n\r\nabc" NEXT));
}

static void odd_lengths_are_refused(void **state)
{
	(void)state;
	refused(400, STR_LIT(POST HOST "Content-Length: +3\r\n\r\nabc" NEXT));
	refused(400, STR_LIT(POST HOST "Content-Length: -3\r\n\r\nabc" NEXT));
	refused(400, STR_LIT(POST HOST "Content-Length: 0x3\r\n\r\nabc" NEXT));
	refused(400, STR_LIT(POST HOST "Content-Length: 3 4\r\n\r\nabc" NEXT));
	refused(400, STR_LIT(POST HOST "Content-Length:\r\n\r\nabc" NEXT));
	refused(400, STR_LIT(POST HOST "Content-Length: 99999999999999999999999\r\n\r\nabc" NEXT));
	refused(413, STR_LIT(POST HOST "Content-Length: 18446744073709551615\r\n\r\nabc" NEXT));
}

static void odd_codings_are_refused(void **state)
{
	(void)state;
	refused(400, STR_LIT(POST HOST "Transfer-Encoding: gzip\r\n\r\nabc" NEXT));
	refused(400, STR_LIT(POST HOST "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n" NEXT));
	refused(501, STR_LIT(POST HOST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" NEXT));
	refused(501, STR_LIT(POST HOST "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" NEXT));
	refused(400, STR_LIT(POST HOST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" NEXT));
	refused(400, STR_LIT(POST HOST "Transfer-Encoding: chunkedx\r\n\r\n0\r\n\r\n" NEXT));
	refused(400, STR_LIT(POST HOST "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n" NEXT));
	refused(400, STR_LIT(POST HOST "Transfer-Encoding: \vchunked\r\n\r\n0\r\n\r\n" NEXT));
	refused(400, STR_LIT(POST HOST "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" NEXT));
	refused(400, STR_LIT(POST HOST "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" NEXT));
	refused(400, STR_LIT("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" NEXT));
}

static void bad_chunks_are_refused(void **state)
{
	(void)state;
#define CHUNKED POST HOST "Transfer-Encoding: chunked\r\n\r\n"
	refused(400, STR_LIT(CHUNKED "x\r\nabc\r\n0\r\n\r\n" NEXT));
	refused(400, STR_LIT(CHUNKED "\r\nabc\r\n0\r\n\r\n" NEXT));
	refused(400, STR_LIT(CHUNKED "0x3\r\nabc\r\n0\r\n\r\n" NEXT));
	refused(400, STR_LIT(CHUNKED "-1\r\nabc\r\n0\r\n\r\n" NEXT));
	refused(400, STR_LIT(CHUNKED " 3\r\nabc\r\n0\r\n\r\n" NEXT));
	refused(400, STR_LIT(CHUNKED "3\nabc\r\n0\r\n\r\n" NEXT));
	refused(400, STR_LIT(CHUNKED "3\rabc\r\n0\r\n\r\n" NEXT));
	refused(400, STR_LIT(CHUNKED "3\r\nabcd\r\n0\r\n\r\n" NEXT));
	refused(400, STR_LIT(CHUNKED "3\r\nabc0\r\n\r\n" NEXT));
	refused(400, STR_LIT(CHUNKED "3\r\nabc\n0\r\n\r\n" NEXT));
	refused(400, STR_LIT(CHUNKED "3;a\nb\r\nabc\r\n0\r\n\r\n" NEXT));
	refused(400, STR_LIT(CHUNKED "3;a\rb\r\nabc\r\n0\r\n\r\n" NEXT));
	refused(400, STR_LIT(CHUNKED "3;a=\"\n\"\r\nabc\r\n0\r\n\r\n" NEXT));
	refused(400, STR_LIT(CHUNKED "ffffffffffffffffff\r\nabc\r\n0\r\n\r\n" NEXT));
	refused(400, STR_LIT(CHUNKED "0\r\nX : y\r\n\r\n" NEXT));
}

static void odd_line_ends_are_refused(void **state)
{
	(void)state;
	refused(400, STR_LIT("GET / HTTP/1.1\n" HOST "\r\n" NEXT));
	refused(400, STR_LIT(GET "Host: x\n\r\n" NEXT));
	refused(400, STR_LIT(GET HOST "\n" NEXT));
	refused(400, STR_LIT(GET HOST "A: b\rC: d\r\n\r\n" NEXT));
	refused(400, STR_LIT(GET HOST "A: b\r\r\n\r\n" NEXT));
	refused(400, STR_LIT(GET HOST "A: b\nTransfer-Encoding: chunked\r\n\r\n" NEXT));
	refused(400, STR_LIT(GET HOST "\rA: b\r\n\r\n" NEXT));
}

static void odd_fields_are_refused(void **state)
{
	(void)state;
	refused(400, STR_LIT(GET HOST "A: b\r\n c\r\n\r\n" NEXT)); /* folded */
	refused(400, STR_LIT(GET HOST "A: b\r\n\tc\r\n\r\n" NEXT));
	refused(400, STR_LIT(GET " A: b\r\n" HOST "\r\n" NEXT));
	refused(400, STR_LIT(GET HOST "A : b\r\n\r\n" NEXT));
	refused(400, STR_LIT(GET HOST "A\t: b\r\n\r\n" NEXT));
	refused(400, STR_LIT(GET HOST "A B: b\r\n\r\n" NEXT));
	refused(400, STR_LIT(GET HOST ": b\r\n\r\n" NEXT));
	refused(400, STR_LIT(GET HOST "nocolon\r\n\r\n" NEXT));
	refused(400, STR_LIT(GET HOST "A: b\0c\r\n\r\n" NEXT));
	refused(400, STR_LIT(GET HOST "A\0: b\r\n\r\n" NEXT));
	refused(400, STR_LIT(GET HOST "A: b\x01\r\n\r\n" NEXT));
	refused(400, STR_LIT(GET HOST "A: b\x7f\r\n\r\n" NEXT));
	refused(400, STR_LIT(GET HOST "\xc3\xa4: b\r\n\r\n" NEXT));
	refused(400, STR_LIT(GET HOST "A(: b\r\n\r\n" NEXT));
}

static void odd_request_lines_are_refused(void **state)
{
	(void)state;
	refused(400, STR_LIT("FROB / HTTP/1.1\r\n" HOST "\r\n" NEXT));
	refused(400, STR_LIT("get / HTTP/1.1\r\n" HOST "\r\n" NEXT));
	refused(400, STR_LIT("GET  HTTP/1.1\r\n" HOST "\r\n" NEXT));
	refused(400, STR_LIT("GET /a b HTTP/1.1\r\n" HOST "\r\n" NEXT));
	refused(400, STR_LIT("GET /\0 HTTP/1.1\r\n" HOST "\r\n" NEXT));
	refused(400, STR_LIT("GET /\x01 HTTP/1.1\r\n" HOST "\r\n" NEXT));
	refused(400, STR_LIT("GET / HTTP/1.1 \r\n" HOST "\r\n" NEXT));
	refused(400, STR_LIT("GET / HTTQ/1.1\r\n" HOST "\r\n" NEXT));
	refused(400, STR_LIT("GET / HTTP/1.2\r\n" HOST "\r\n" NEXT));
	refused(505, STR_LIT("GET / HTTP/2.0\r\n" HOST "\r\n" NEXT));
	refused(505, STR_LIT("GET /\r\n\r\n" NEXT));
	refused(400, STR_LIT("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")); /* TLS */
	refused(505, STR_LIT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
}

static void hosts_are_one(void **state)
{
	(void)state;
	refused(400, STR_LIT(GET HOST HOST "\r\n" NEXT));
	refused(400, STR_LIT(GET HOST "host: y\r\n\r\n" NEXT));
	refused(400, STR_LIT(GET "\r\n" NEXT));
	refused(400, STR_LIT("CONNECT x:1 HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc"));
}

static void long_heads_are_refused(void **state)
{
	autobuf struct buf b = BUF_INIT(1 << 20);
	bool closed;

	(void)state;
	buf_z(&b, "GET /");
	while (b.n < HTTP_HEAD_MAX + 10)
		buf_ch(&b, 'x');
	assert_int_equal(answer_to(buf_view(&b), ANSWER_MAX, &closed), 431);
	assert_true(closed);
	buf_clear(&b);
	buf_z(&b, GET HOST);
	for (int i = 1; i < HTTP_HEADERS_MAX; i++)
		buf_fmt(&b, "H%d: v\r\n", i);
	buf_z(&b, "\r\n");
	assert_int_equal(answer_to(buf_view(&b), ANSWER_MAX, &closed), 200);
	b.n -= 2;
	buf_z(&b, "One: more\r\n\r\n");
	assert_int_equal(answer_to(buf_view(&b), ANSWER_MAX, &closed), 431);
	assert_true(closed);
	buf_clear(&b);
	buf_z(&b, POST HOST "Transfer-Encoding: chunked\r\n\r\n3;a=");
	for (int i = 0; i < 40000; i++)
		buf_ch(&b, 'x');
	assert_int_equal(answer_to(buf_view(&b), 1000, &closed), 400);
	assert_true(closed);
	buf_z(&b, "\r\nabc\r\n0\r\n\r\n" NEXT); /* complete, and at once: no better */
	refused(400, buf_view(&b));
	buf_clear(&b);
	buf_z(&b, POST HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n");
	for (int i = 0; i < 4000; i++)
		buf_z(&b, "Trail: er\r\n");
	assert_int_equal(answer_to(buf_view(&b), 1000, &closed), 400);
	assert_true(closed);
	buf_z(&b, "\r\n" NEXT);
	refused(400, buf_view(&b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(well_formed_heads_are_taken),
		cmocka_unit_test(two_lengths_are_refused),
		cmocka_unit_test(odd_lengths_are_refused),
		cmocka_unit_test(odd_codings_are_refused),
		cmocka_unit_test(bad_chunks_are_refused),
		cmocka_unit_test(odd_line_ends_are_refused),
		cmocka_unit_test(odd_fields_are_refused),
		cmocka_unit_test(odd_request_lines_are_refused),
		cmocka_unit_test(hosts_are_one),
		cmocka_unit_test(long_heads_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
