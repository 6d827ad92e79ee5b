/* SPDX-License-Identifier: Apache-2.0 */
/* Units of init/gate: who comes through, what is closed without an answer, and the relay to ports of the loopback. */
#include "../http/wire.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "http/server.h"
#include "init/gate/gate.h"
#include "loop/stream.h"

#define GET STR_LIT("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
#define LARGE (8 << 20)

static const uint8_t token[PREAMBLE_TOKEN] = "0123456789abcdef0123456789abcde";

struct site {
	struct loop *l;
	struct http_server *server;
	struct gate gate;
	struct sockaddr_in at;
	int behind; /* a listener on the loopback */
	uint16_t port;
};

static void on_request(void *user, struct http_req *rq)
{
	(void)user;
	http_respond(rq, 200, NULL, NULL, STR_LIT("ok"));
}

static const struct http_server_ops ops = { .on_request = on_request };

static int listener(int family, struct sockaddr_storage *ret)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;
	socklen_t n = family == AF_INET ? sizeof *v4 : sizeof *v6;
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	*ret = (struct sockaddr_storage) { .ss_family = (sa_family_t)family };
	if (family == AF_INET)
		v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		v6->sin6_addr = in6addr_loopback;
	if (bind(fd, (struct sockaddr *)ret, n) < 0 || listen(fd, 64) < 0) {
		fd_close(fd);
		return -1;
	}
	assert_int_equal(getsockname(fd, (struct sockaddr *)ret, &n), 0);
	return fd;
}

static int set_up(void **state)
{
	struct site *t = calloc(1, sizeof *t);
	struct sockaddr_storage at, behind;
	struct err e = ERR_INIT;
	int fd = listener(AF_INET, &at);

	t->behind = listener(AF_INET, &behind);
	memcpy(&t->at, &at, sizeof t->at);
	t->port = ntohs(((struct sockaddr_in *)&behind)->sin_port);
	t->l = loop_new();
	t->server = http_server_new(t->l, -1, &ops, t);
	assert_int_equal(gate_open(&t->gate, t->l, t->server, fd, token, &e), 0);
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	struct site *t = *state;

	gate_done(&t->gate);
	http_server_free(t->server);
	wire_turns(t->l, 3);
	loop_free(t->l);
	fd_close(t->behind);
	free(t);
	return 0;
}

static int dial(struct site *t)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&t->at, sizeof t->at), 0);
	assert_int_equal(fd_nonblock(fd, true), 0);
	return fd;
}

static int call(struct site *t, uint8_t kind, uint16_t port)
{
	uint8_t b[PREAMBLE_SIZE];
	int fd = dial(t);

	preamble_write(&(struct preamble) { kind, port }, token, b);
	wire_send(fd, (struct str) { (char *)b, sizeof b });
	return fd;
}

/* Runs the loop until n bytes have come, or the end. Returns how many came. */
static size_t await(struct site *t, int fd, struct buf *got, size_t n, bool *ret_end)
{
	bool end = false;

	for (int i = 0; i < 2000 && got->n < n && !end; i++) {
		wire_wait(t->l, 1);
		end = wire_recv(fd, got);
	}
	if (ret_end)
		*ret_end = end;
	return got->n;
}

static bool ends_without_answer(struct site *t, int fd)
{
	autobuf struct buf got = BUF_INIT(1 << 20);
	bool end;
	size_t n = await(t, fd, &got, 1, &end);

	fd_close(fd);
	return n == 0 && end;
}

static void a_preamble_opens_the_api(void **state)
{
	struct site *t = *state;
	autobuf struct buf got = BUF_INIT(1 << 20);
	autoclose int fd = call(t, PREAMBLE_API, 0);

	for (int i = 0; i < 3; i++) { /* it is kept */
		buf_clear(&got);
		wire_send(fd, GET);
		assert_true(await(t, fd, &got, 20, NULL) >= 20);
		assert_memory_equal(got.p, "HTTP/1.1 200", 12);
	}
}

static void a_preamble_may_come_in_pieces(void **state)
{
	struct site *t = *state;
	autobuf struct buf got = BUF_INIT(1 << 20);
	autoclose int fd = dial(t);
	uint8_t b[PREAMBLE_SIZE];

	preamble_write(&(struct preamble) { PREAMBLE_API, 0 }, token, b);
	for (size_t i = 0; i < sizeof b; i++) {
		wire_send(fd, (struct str) { (char *)b + i, 1 });
		wire_wait(t->l, 1);
	}
	wire_send(fd, GET);
	assert_true(await(t, fd, &got, 20, NULL) >= 20);
}

static void anything_else_gets_no_answer(void **state)
{
	struct site *t = *state;
	uint8_t b[PREAMBLE_SIZE];
	int fd = dial(t);

	wire_send(fd, STR_LIT("GET /health HTTP/1.1\r\nHost: x\r\nX: abcdefghijk\r\n\r\n"));
	assert_true(ends_without_answer(t, fd));
	for (size_t at = 0; at < PREAMBLE_SIZE; at++) {
		preamble_write(&(struct preamble) { PREAMBLE_API, 0 }, token, b);
		b[at] ^= 0x40;
		fd = dial(t);
		wire_send(fd, (struct str) { (char *)b, sizeof b });
		assert_true(ends_without_answer(t, fd));
	}
	fd = dial(t); /* an end in the middle */
	wire_send(fd, (struct str) { (char *)token, sizeof token });
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	assert_true(ends_without_answer(t, fd));
	assert_int_equal(http_server_conns(t->server), 0);
	assert_int_equal(t->gate.n_callers, 0);
}

static void silent_callers_do_not_shut_others_out(void **state)
{
	struct site *t = *state;
	autobuf struct buf got = BUF_INIT(1 << 20);
	int silent[3 * GATE_CALLERS_MAX];

	for (size_t i = 0; i < ARRAY_LEN(silent); i++) {
		silent[i] = dial(t);
		wire_turns(t->l, 2);
	}
	autoclose int fd = call(t, PREAMBLE_API, 0);

	wire_send(fd, GET);
	assert_true(await(t, fd, &got, 20, NULL) >= 20);
	assert_true(t->gate.n_callers <= GATE_CALLERS_MAX);
	assert_true(ends_without_answer(t, silent[0])); /* the oldest */
	for (size_t i = 1; i < ARRAY_LEN(silent); i++)
		fd_close(silent[i]);
}

/* Time itself is tested: a caller has GATE_PREAMBLE_MS. */
static void a_silent_caller_is_closed(void **state)
{
	struct site *t = *state;
	autobuf struct buf got = BUF_INIT(1 << 20);
	autoclose int fd = dial(t);
	bool end = false;

	wire_wait(t->l, GATE_PREAMBLE_MS / 2);
	assert_false(wire_recv(fd, &got));
	for (int i = 0; i < 600 && !end; i++) {
		wire_wait(t->l, 50);
		end = wire_recv(fd, &got);
	}
	assert_true(end);
	assert_int_equal(t->gate.n_callers, 0);
}

static int accept_behind(struct site *t, int listener_fd)
{
	int fd = -1;

	for (int i = 0; i < 2000 && fd < 0; i++) {
		wire_wait(t->l, 1);
		fd = accept4(listener_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	}
	assert_true(fd >= 0);
	return fd;
}

/* Both directions, and each end on its own. */
static void check_relay(struct site *t, int fd, int far)
{
	autobuf struct buf got = BUF_INIT(1 << 20), back = BUF_INIT(1 << 20);
	bool end;

	assert_int_equal(await(t, fd, &back, 1, NULL), 1);
	assert_int_equal(back.p[0], 0); /* it is connected */
	wire_send(fd, STR_LIT("question"));
	assert_int_equal(await(t, far, &got, 8, NULL), 8);
	assert_memory_equal(got.p, "question", 8);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	await(t, far, &got, SIZE_MAX, &end);
	assert_true(end);
	wire_send(far, STR_LIT("answer"));
	buf_clear(&back);
	assert_int_equal(await(t, fd, &back, 6, NULL), 6);
	assert_memory_equal(back.p, "answer", 6);
	fd_close(far);
	await(t, fd, &back, SIZE_MAX, &end);
	assert_true(end);
	assert_int_equal(t->gate.passages.n, 0);
}

static void a_port_is_relayed(void **state)
{
	struct site *t = *state;
	autoclose int fd = call(t, PREAMBLE_RELAY, t->port);

	check_relay(t, fd, accept_behind(t, t->behind));
}

static void a_port_of_ipv6_alone_is_relayed(void **state)
{
	struct site *t = *state;
	struct sockaddr_storage at;
	autoclose int six = listener(AF_INET6, &at);

	if (six < 0)
		skip();
	autoclose int fd = call(t, PREAMBLE_RELAY, ntohs(((struct sockaddr_in6 *)&at)->sin6_port));

	check_relay(t, fd, accept_behind(t, six));
}

static void a_port_without_listener_ends_without_a_byte(void **state)
{
	struct site *t = *state;
	struct sockaddr_storage at;
	int fd = listener(AF_INET, &at);

	fd_close(fd); /* nothing listens there now */
	assert_true(ends_without_answer(t, call(t, PREAMBLE_RELAY, ntohs(((struct sockaddr_in *)&at)->sin_port))));
	assert_int_equal(t->gate.passages.n, 0);
}

/* A reader that does not read stops its writer, and nothing is lost. */
static void a_slow_reader_slows_the_writer(void **state)
{
	struct site *t = *state;
	static char piece[65536];
	size_t sent = 0, seen = 0, stuck = 0;
	autoclose int fd = call(t, PREAMBLE_RELAY, t->port);
	autoclose int far = accept_behind(t, t->behind);

	while (stuck < 20) {
		ssize_t n = send(fd, piece, sizeof piece, MSG_NOSIGNAL);

		stuck = n > 0 ? 0 : stuck + 1;
		sent += n > 0 ? (size_t)n : 0;
		wire_wait(t->l, 1);
		assert_true(sent < 64u << 20);
	}
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	for (bool end = false; !end;) {
		autobuf struct buf got = BUF_INIT(LARGE);

		wire_wait(t->l, 1);
		end = wire_recv(far, &got);
		seen += got.n;
	}
	assert_int_equal(seen, sent);
}

static void a_drop_ends_relays_and_callers(void **state)
{
	struct site *t = *state;
	int fd = call(t, PREAMBLE_RELAY, t->port), silent = dial(t);
	autoclose int far = accept_behind(t, t->behind);
	autobuf struct buf got = BUF_INIT(1 << 20);
	bool end;

	assert_int_equal(await(t, fd, &got, 1, NULL), 1);
	gate_drop(&t->gate);
	assert_int_equal(t->gate.passages.n, 0);
	await(t, fd, &got, 2, &end);
	assert_true(end);
	fd_close(fd);
	assert_true(ends_without_answer(t, silent));
	a_preamble_opens_the_api(state); /* it goes on */
}

/* What a copy is told: the old token is worth nothing afterwards. */
static void a_token_is_replaced(void **state)
{
	struct site *t = *state;
	static const uint8_t other[PREAMBLE_TOKEN] = "another";
	autobuf struct buf got = BUF_INIT(1 << 20);
	uint8_t b[PREAMBLE_SIZE];
	bool end;
	autoclose int fd = call(t, PREAMBLE_RENEW, 0);

	wire_send(fd, (struct str) { (char *)other, 7 });
	wire_turns(t->l, 4);
	a_preamble_opens_the_api(state); /* not yet */
	wire_send(fd, (struct str) { (char *)other + 7, sizeof other - 7 });
	assert_int_equal(await(t, fd, &got, 1, &end), 1);
	assert_int_equal(got.p[0], 0);
	assert_true(ends_without_answer(t, call(t, PREAMBLE_API, 0)));
	autoclose int again = dial(t);

	preamble_write(&(struct preamble) { PREAMBLE_API, 0 }, other, b);
	wire_send(again, (struct str) { (char *)b, sizeof b });
	wire_send(again, GET);
	buf_clear(&got);
	assert_true(await(t, again, &got, 20, NULL) >= 20);
}

static void a_token_is_read_whole(void **state)
{
	uint8_t got[PREAMBLE_TOKEN];
	struct err e = ERR_INIT;
	int p[2];

	(void)state;
	assert_int_equal(pipe(p), 0);
	assert_int_equal(fd_write_all(p[1], token, 31), 0);
	fd_close(p[1]);
	assert_int_equal(gate_token(p[0], got, &e), -EPIPE);
	assert_int_equal(pipe(p), 0);
	assert_int_equal(fd_write_all(p[1], token, sizeof token), 0);
	assert_int_equal(gate_token(p[0], got, &e), 0);
	assert_memory_equal(got, token, sizeof token);
	fd_close(p[1]);
}

#define UNIT(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT(a_preamble_opens_the_api),
		UNIT(a_preamble_may_come_in_pieces),
		UNIT(anything_else_gets_no_answer),
		UNIT(silent_callers_do_not_shut_others_out),
		UNIT(a_silent_caller_is_closed),
		UNIT(a_port_is_relayed),
		UNIT(a_port_of_ipv6_alone_is_relayed),
		UNIT(a_port_without_listener_ends_without_a_byte),
		UNIT(a_slow_reader_slows_the_writer),
		UNIT(a_token_is_replaced),
		UNIT(a_drop_ends_relays_and_callers),
		cmocka_unit_test(a_token_is_read_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
