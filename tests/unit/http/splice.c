/* SPDX-License-Identifier: Apache-2.0 */
/* Units of http/server and http/call together: bodies that are moved from the one to the other, as a proxy does it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/call.h"
#include "http/server.h"
#include "loop/stream.h"
#include "unit.h"
#include "wire.h"

#define BODY (1 << 20)

struct proxy {
	struct loop *l;
	struct http_server *server;
	int client, origin; /* the far ends */
	struct http_req *rq;
	struct http_call *call;
	struct buf got, sent; /* by the client, by the origin */
	size_t read_up, moved_up, read_down, moved_down;
	int requests, body_ends, losts, error;
};

static void on_answer(void *user, const struct http_answer *a)
{
	struct proxy *p = user;

	http_begin(p->rq, a->status, NULL, NULL, a->content_length);
}

static void on_data(void *user, struct str data)
{
	struct proxy *p = user;
	uint64_t left;

	p->read_down += data.n;
	http_write(p->rq, data);
	struct stream *to = http_splice_to(p->rq, &left);
	if (to)
		http_call_splice(p->call, to, left);
}

static void on_moved(void *user, size_t n)
{
	struct proxy *p = user;

	p->moved_down += n;
	http_moved(p->rq, n);
}

static void on_end(void *user)
{
	struct proxy *p = user;

	http_call_free(take_ptr(&p->call));
	http_end(p->rq);
}

static void on_error(void *user, int no)
{
	struct proxy *p = user;

	p->error = no;
	http_call_free(take_ptr(&p->call));
	http_abort(p->rq);
}

static const struct http_call_ops call_ops = {
	.on_answer = on_answer,
	.on_data = on_data,
	.on_moved = on_moved,
	.on_end = on_end,
	.on_error = on_error,
};

static void on_body(struct http_req *rq, struct str data)
{
	struct proxy *p = rq->user;

	p->read_up += data.n;
	if (!p->call)
		return;
	http_call_write(p->call, data);
	http_body_splice(rq, http_call_stream(p->call));
}

static void on_body_moved(struct http_req *rq, size_t n)
{
	((struct proxy *)rq->user)->moved_up += n;
}

static void on_body_end(struct http_req *rq)
{
	((struct proxy *)rq->user)->body_ends++;
}

static void on_close(struct http_req *rq, bool lost)
{
	struct proxy *p = rq->user;

	p->losts += lost;
	p->rq = NULL;
	http_call_free(take_ptr(&p->call));
}

static const struct http_req_ops req_ops = {
	.on_body = on_body,
	.on_body_moved = on_body_moved,
	.on_body_end = on_body_end,
	.on_close = on_close,
};

static void on_request(void *user, struct http_req *rq)
{
	struct proxy *p = user;
	int sv[2];

	p->requests++;
	rq->ops = &req_ops;
	rq->user = p;
	p->rq = rq;
	wire_pair(sv);
	fd_close(p->origin);
	p->origin = sv[1];
	p->call = http_call_new(p->l, sv[0], &call_ops, p);
}

static const struct http_server_ops server_ops = { .on_request = on_request };

static int set_up(void **state)
{
	struct proxy *p = calloc(1, sizeof *p);
	int sv[2];

	wire_pair(sv);
	p->l = loop_new();
	p->origin = -1;
	p->client = sv[1];
	p->got = p->sent = BUF_INIT(64 << 20);
	p->server = http_server_new(p->l, -1, &server_ops, p);
	assert_int_equal(http_server_adopt(p->server, sv[0]), 0);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct proxy *p = *state;

	http_server_free(p->server);
	fd_close(p->client);
	fd_close(p->origin);
	wire_turns(p->l, 3);
	loop_free(p->l);
	buf_done(&p->got);
	buf_done(&p->sent);
	free(p);
	return 0;
}

/* All of it, while the loop runs and both ends read. */
static void pour(struct proxy *p, int fd, struct str bytes)
{
	for (int i = 0; i < 10000 && bytes.n; i++) {
		ssize_t n = send(fd, bytes.p, bytes.n < 50000 ? bytes.n : 50000, MSG_NOSIGNAL);

		if (n > 0)
			str_skip(&bytes, (size_t)n);
		wire_turns(p->l, 2);
		if (p->origin >= 0)
			(void)wire_recv(p->origin, &p->sent);
		(void)wire_recv(p->client, &p->got);
	}
	assert_int_equal(bytes.n, 0);
	wire_turns(p->l, 4);
	if (p->origin >= 0)
		(void)wire_recv(p->origin, &p->sent);
	(void)wire_recv(p->client, &p->got);
}

static void put_body(struct buf *b)
{
	for (uint32_t i = 0; i < BODY / sizeof i; i++)
		buf_put(b, &i, sizeof i);
}

static void an_upload_ends_where_its_length_says(void **state)
{
	struct proxy *p = *state;
	autobuf struct buf bytes = BUF_INIT(4 << 20), body = BUF_INIT(4 << 20);

	put_body(&body);
	buf_fmt(&bytes, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", BODY);
	buf_str(&bytes, buf_view(&body));
	pour(p, p->client, buf_view(&bytes));
	assert_int_equal(p->body_ends, 1);
	assert_int_equal(p->read_up + p->moved_up, BODY);
	assert_true(p->moved_up > BODY / 2);
	assert_int_equal(p->sent.n, BODY);
	assert_memory_equal(p->sent.p, body.p, BODY);
	pour(p, p->origin, STR_LIT("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
	assert_non_null(memmem(p->got.p, p->got.n, "\r\n\r\nok", 6));
	buf_clear(&p->got);
	pour(p, p->client, STR_LIT("GET /2 HTTP/1.1\r\nHost: x\r\n\r\n")); /* the connection can be used on */
	assert_int_equal(p->requests, 2);
	pour(p, p->origin, STR_LIT("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo"));
	assert_non_null(memmem(p->got.p, p->got.n, "\r\n\r\ntwo", 7));
}

static void a_request_behind_an_upload_is_not_part_of_it(void **state)
{
	struct proxy *p = *state;
	autobuf struct buf bytes = BUF_INIT(4 << 20);

	buf_fmt(&bytes, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", BODY);
	put_body(&bytes);
	buf_z(&bytes, "GET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
	pour(p, p->client, buf_view(&bytes));
	assert_true(p->moved_up > 0);
	assert_int_equal(p->sent.n, BODY);
	assert_int_equal(p->requests, 1);
	pour(p, p->origin, STR_LIT("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
	assert_int_equal(p->requests, 2);
}

static void a_download_arrives_whole(void **state)
{
	struct proxy *p = *state;
	autobuf struct buf bytes = BUF_INIT(4 << 20), body = BUF_INIT(4 << 20);

	put_body(&body);
	pour(p, p->client, STR_LIT("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
	buf_fmt(&bytes, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", BODY);
	buf_str(&bytes, buf_view(&body));
	buf_z(&bytes, "and more than was announced");
	pour(p, p->origin, buf_view(&bytes));
	assert_int_equal(p->read_down + p->moved_down, BODY);
	assert_true(p->moved_down > BODY / 2);
	assert_true(p->got.n > BODY && p->got.n < BODY + 200);
	assert_memory_equal(p->got.p + p->got.n - BODY, body.p, BODY);
	assert_null(p->rq);
	assert_int_equal(p->losts, 0);
}

static void a_cut_download_is_an_error(void **state)
{
	struct proxy *p = *state;
	autobuf struct buf bytes = BUF_INIT(4 << 20);

	pour(p, p->client, STR_LIT("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
	buf_fmt(&bytes, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", BODY + 1);
	put_body(&bytes);
	pour(p, p->origin, buf_view(&bytes));
	assert_true(p->moved_down > 0);
	fd_close(take_fd(&p->origin));
	wire_turns(p->l, 4);
	assert_int_equal(p->error, ECONNRESET);
	assert_int_equal(p->losts, 1);
	assert_true(wire_recv(p->client, &p->got));
}

static void a_client_that_leaves_ends_the_download(void **state)
{
	struct proxy *p = *state;
	autobuf struct buf bytes = BUF_INIT(4 << 20);

	pour(p, p->client, STR_LIT("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
	buf_fmt(&bytes, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", 2 * BODY);
	put_body(&bytes);
	pour(p, p->origin, buf_view(&bytes));
	assert_true(p->moved_down > 0);
	fd_close(take_fd(&p->client));
	wire_turns(p->l, 4);
	assert_int_equal(p->losts, 1);
	assert_null(p->call);
	assert_true(wire_recv(p->origin, &p->sent));
}

static void an_early_answer_leaves_the_rest_of_the_upload(void **state)
{
	struct proxy *p = *state;
	autobuf struct buf bytes = BUF_INIT(4 << 20);

	buf_fmt(&bytes, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", BODY + 100000);
	put_body(&bytes);
	pour(p, p->client, buf_view(&bytes));
	assert_true(p->moved_up > 0);
	pour(p, p->origin, STR_LIT("HTTP/1.1 507 No\r\nContent-Length: 2\r\n\r\nno"));
	assert_non_null(memmem(p->got.p, p->got.n, "\r\n\r\nno", 6));
	assert_null(p->call);
	buf_clear(&bytes);
	for (int i = 0; i < 100000; i++)
		buf_ch(&bytes, 'x');
	(void)!send(p->client, bytes.p, bytes.n, MSG_NOSIGNAL);
	wire_turns(p->l, 5); /* dropped, or the connection is closed: nothing breaks */
	assert_int_equal(p->body_ends, 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(an_upload_ends_where_its_length_says),
		CASE(a_request_behind_an_upload_is_not_part_of_it),
		CASE(a_download_arrives_whole),
		CASE(a_cut_download_is_an_error),
		CASE(a_client_that_leaves_ends_the_download),
		CASE(an_early_answer_leaves_the_rest_of_the_upload),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
