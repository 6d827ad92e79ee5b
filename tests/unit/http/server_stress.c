/* SPDX-License-Identifier: Apache-2.0 */
/* http/server and http/call against each other and against rude peers, in one loop: handlers that answer, abort, pause,
 * hijack at random moments, clients that leave at random moments. Each request must be closed exactly once, and
 * a build with address sanitizer must stay silent. Argument: a seed. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/call.h"
#include "http/server.h"
#include "loop/stream.h"
#include "unit.h"
#include "wire.h"

#define CLIENTS 24
#define ROUNDS 6000
#define JOBS_MAX 20

static uint64_t seed;
static struct loop *l;
static struct http_server *server;
static int opened, closed, ended_calls, failed_calls, freed_calls, tunnels;
static char block[100000];

static unsigned rnd(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 20) % n;
}

/* The server's side: a job per request. */
struct job {
	struct http_req *rq; /* NULL once on_close has come */
	struct timer *t;
};

static void job_act(struct job *j)
{
	struct http_req *rq = j->rq;
	autobuf struct buf early = BUF_INIT(1 << 20);
	struct stream *taken;

	switch (rnd(JOBS_MAX)) {
	case 0 ... 3:
		http_respond(rq, 200, "text/plain", NULL, (struct str) { block, rnd(3) ? 10 : sizeof block });
		break;
	case 4 ... 6:
		http_begin(rq, 200, NULL, NULL, -1);
		break;
	case 7:
		http_begin(rq, 200, NULL, NULL, 50);
		http_write(rq, (struct str) { block, rnd(60) });
		break;
	case 8 ... 10:
		http_write(rq, (struct str) { block, rnd(sizeof block) });
		break;
	case 11 ... 13:
		http_end(rq);
		break;
	case 14:
		http_body_want(rq, false);
		break;
	case 15:
		http_body_want(rq, true);
		break;
	case 16:
		http_abort(rq);
		break;
	case 17:
		if (http_hijack(rq, STR_LIT("HTTP/1.1 101 S\r\n\r\n"), &taken, &early) == 0) {
			tunnels++;
			stream_close(taken);
		}
		break;
	case 18:
		http_close_after(rq);
		break;
	default:
		break;
	}
	timer_arm(j->t, rnd(4));
}

static void on_job_timer(void *user)
{
	job_act(user);
}

static void maybe_act(struct http_req *rq)
{
	assert_ptr_equal(((struct job *)rq->user)->rq, rq);
	if (rnd(2))
		job_act(rq->user);
	if (rnd(4) == 0)
		job_act(rq->user);
}

static void on_body(struct http_req *rq, struct str data)
{
	unsigned sum = 0;

	for (size_t i = 0; i < data.n; i++)
		sum += (unsigned char)data.p[i]; /* all of it must be readable */
	assert_int_not_equal(sum, 0);
	maybe_act(rq);
}

static void on_drain(struct http_req *rq)
{
	maybe_act(rq);
}

static void on_close(struct http_req *rq, bool lost)
{
	struct job *j = rq->user;

	(void)lost;
	assert_ptr_equal(j->rq, rq);
	job_act(j);
	closed++;
	timer_free(j->t);
	free(j);
}

static const struct http_req_ops req_ops = { .on_body = on_body,
	.on_body_end = on_drain,
	.on_drain = on_drain,
	.on_close = on_close };

static void on_request(void *user, struct http_req *rq)
{
	struct job *j = calloc(1, sizeof *j);

	(void)user;
	opened++;
	j->rq = rq;
	j->t = timer_new(l, on_job_timer, j);
	timer_arm(j->t, rnd(5));
	rq->user = j;
	rq->ops = &req_ops;
	maybe_act(rq);
}

static const struct http_server_ops server_ops = { .on_request = on_request };

/* The clients' side: raw ones that send pieces of requests, and calls. */
struct client {
	int fd;
	struct http_call *call;
	struct buf out;
};

static struct client clients[CLIENTS];

static void put_request(struct buf *b)
{
	static const char *const heads[] = {
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET / HTTP/1.0\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab",
		"GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nraw",
		"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\nraw",
		"garbage\r\n\r\n",
	};
	unsigned i = rnd(ARRAY_LEN(heads) + 1);

	if (i < ARRAY_LEN(heads)) {
		buf_z(b, heads[i]);
	} else {
		size_t n = rnd(400000);

		buf_fmt(b, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", n);
		for (; n; n -= n < sizeof block ? n : sizeof block)
			buf_put(b, block, n < sizeof block ? n : sizeof block);
	}
}

static void call_over(struct client *c)
{
	bool reusable;
	int fd = rnd(2) ? http_call_done(take_ptr(&c->call), &reusable) : (http_call_free(take_ptr(&c->call)), -1);

	fd_close(fd);
	freed_calls++;
}

static void on_answer(void *user, const struct http_answer *a)
{
	struct client *c = user;
	autobuf struct buf early = BUF_INIT(1 << 20);

	if (a->upgrade)
		stream_close(http_call_take(take_ptr(&c->call), &early));
	else if (rnd(10) == 0)
		call_over(c);
	else if (rnd(5) == 0)
		http_call_read(c->call, false);
}

static void on_data(void *user, struct str data)
{
	struct client *c = user;

	assert_int_not_equal((unsigned char)data.p[0] + (unsigned char)data.p[data.n - 1], 0);
	if (rnd(10) == 0)
		call_over(c);
	else if (rnd(5) == 0)
		http_call_read(c->call, false);
}

static void on_end(void *user)
{
	ended_calls++;
	call_over(user);
}

static void on_error(void *user, int no)
{
	(void)no;
	failed_calls++;
	call_over(user);
}

static const struct http_call_ops call_ops = { .on_answer = on_answer,
	.on_data = on_data,
	.on_end = on_end,
	.on_error = on_error };

static void client_begin(struct client *c)
{
	int sv[2];

	wire_pair(sv);
	assert_int_equal(http_server_adopt(server, sv[0]), 0);
	buf_clear(&c->out);
	if (rnd(2)) {
		c->fd = sv[1];
		return;
	}
	c->call = http_call_new(l, sv[1], &call_ops, c);
	put_request(&c->out);
	http_call_head(c->call, buf_view(&c->out), false, false);
}

static void client_act(struct client *c)
{
	static char sink[300000];

	if (c->call) {
		if (rnd(10) == 0)
			call_over(c);
		else
			http_call_read(c->call, rnd(3));
		return;
	}
	if (c->fd < 0) {
		client_begin(c);
		return;
	}
	if (c->out.n < 1000)
		put_request(&c->out);
	if (rnd(3)) {
		size_t n = rnd(4) ? rnd(200) : c->out.n;
		ssize_t sent = send(c->fd, c->out.p, n < c->out.n ? n : c->out.n, MSG_NOSIGNAL);

		if (sent > 0)
			buf_consume(&c->out, (size_t)sent);
		else if (sent < 0 && errno != EAGAIN)
			fd_close(take_fd(&c->fd));
	}
	if (rnd(2) && c->fd >= 0 && read(c->fd, sink, rnd(sizeof sink) + 1) == 0)
		fd_close(take_fd(&c->fd));
	if (rnd(20) == 0 && c->fd >= 0)
		(void)shutdown(c->fd, (int)rnd(3));
	if (rnd(10) == 0)
		fd_close(take_fd(&c->fd));
}

static void nobody_is_forgotten_and_nothing_is_used_after_its_end(void **state)
{
	(void)state;
	l = loop_new();
	server = http_server_new(l, -1, &server_ops, NULL);
	memset(block, 'x', sizeof block);
	for (int i = 0; i < CLIENTS; i++)
		clients[i] = (struct client) { .fd = -1, .out = BUF_INIT(4 << 20) };
	for (int r = 0; r < ROUNDS; r++) {
		for (int i = 0; i < 4; i++)
			client_act(&clients[rnd(CLIENTS)]);
		wire_turn(l);
	}
	for (int i = 0; i < CLIENTS; i++) {
		http_call_free(take_ptr(&clients[i].call));
		fd_close(take_fd(&clients[i].fd));
		buf_done(&clients[i].out);
	}
	if (rnd(2))
		wire_wait(l, 50);
	http_server_free(server);
	wire_wait(l, 20);
	loop_free(l);
	print_message("requests %d, calls ended %d failed %d, tunnels %d\n", opened, ended_calls, failed_calls,
	    tunnels);
	assert_int_equal(opened, closed);
	assert_true(opened > 100 && ended_calls > 10 && failed_calls > 10 && tunnels > 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(nobody_is_forgotten_and_nothing_is_used_after_its_end) };

	seed = 88172645463325252u + (argc > 1 ? strtoull(argv[1], NULL, 10) * 1000003u : 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
