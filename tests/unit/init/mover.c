/* SPDX-License-Identifier: Apache-2.0 */
/* Units of init/mover: order, back-pressure, ends, and pipes that are given back. */
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../http/wire.h"
#include "init/mover.h"

#define BIG (8 << 20)

struct site {
	struct loop *l;
	int near, far;			/* our ends of the two sides */
	int over;
	struct buf got;
};

static void on_over(void *user)
{
	((struct site *)user)->over++;
}

/* The port's side is TCP, as it is in life. */
static void tcp_pair(int sv[2])
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof at;
	int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(l, (struct sockaddr *)&at, n), 0);
	assert_int_equal(getsockname(l, (struct sockaddr *)&at, &n), 0);
	assert_int_equal(listen(l, 1), 0);
	sv[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(sv[0], (struct sockaddr *)&at, n), 0);
	sv[1] = accept4(l, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	assert_true(sv[1] >= 0);
	assert_int_equal(fd_nonblock(sv[0], true), 0);
	fd_close(l);
}

static void mover_with(struct site *t, struct str early)
{
	int a[2], b[2];

	wire_pair(a);
	tcp_pair(b);
	t->near = a[1];
	t->far = b[1];
	assert_non_null(mover_new(t->l, a[0], b[0], early, on_over, t));
}

static int set_up(void **state)
{
	struct site *t = calloc(1, sizeof *t);

	t->l = loop_new();
	t->near = t->far = -1;
	t->got = BUF_INIT(2 * BIG);
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	struct site *t = *state;

	fd_close(t->near);
	fd_close(t->far);
	wire_turns(t->l, 6);
	assert_int_equal(t->over, 1);
	loop_free(t->l);
	buf_done(&t->got);
	free(t);
	return 0;
}

static size_t open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void words_go_both_ways(void **state)
{
	struct site *t = *state;

	mover_with(t, STR_LIT("early "));
	wire_send(t->near, STR_LIT("bird"));
	wire_turns(t->l, 4);
	(void)wire_recv(t->far, &t->got);
	assert_true(str_is(buf_view(&t->got), "early bird"));
	buf_clear(&t->got);
	wire_send(t->far, STR_LIT("worm"));
	wire_turns(t->l, 4);
	(void)wire_recv(t->near, &t->got);
	assert_true(str_is(buf_view(&t->got), "worm"));
	size_t before = open_fds();
	for (int i = 0; i < 100; i++) {
		wire_send(t->near, STR_LIT("x"));
		wire_turns(t->l, 3);
	}
	assert_int_equal(open_fds(), before);	/* a pipe that is empty is kept for the next one */
}

/* Writes as the socket takes it, reads as the other end gives it. */
static void bulk(struct site *t, int from, int to, int slow)
{
	autobuf struct buf big = BUF_INIT(BIG);
	size_t sent = 0;

	for (uint32_t i = 0; i < BIG; i += 4)
		buf_put(&big, &i, 4);
	buf_clear(&t->got);
	for (int i = 0; i < 100000 && t->got.n < BIG; i++) {
		if (sent < BIG) {
			ssize_t n = send(from, big.p + sent, BIG - sent, MSG_NOSIGNAL);

			sent += n > 0 ? (size_t)n : 0;
		}
		wire_turn(t->l);
		if (i % slow == 0)
			(void)wire_recv(to, &t->got);
	}
	assert_int_equal(t->got.n, BIG);
	assert_memory_equal(t->got.p, big.p, BIG);
}

static void much_arrives_whole_at_a_slow_reader(void **state)
{
	struct site *t = *state;

	mover_with(t, STR_NULL);
	bulk(t, t->near, t->far, 1);
	bulk(t, t->far, t->near, 1);
	bulk(t, t->near, t->far, 17);
	bulk(t, t->far, t->near, 17);
}

static void a_reader_that_stops_stops_the_writer(void **state)
{
	struct site *t = *state;
	static char block[65536];
	size_t sent = 0;

	mover_with(t, STR_NULL);
	for (int i = 0; i < 2000; i++) {
		ssize_t n = send(t->near, block, sizeof block, MSG_NOSIGNAL);

		sent += n > 0 ? (size_t)n : 0;
		wire_turn(t->l);
	}
	assert_true(sent < 32 << 20);		/* what sockets and one pipe hold */
	size_t before = sent;
	for (int i = 0; i < 100; i++) {
		ssize_t n = send(t->near, block, sizeof block, MSG_NOSIGNAL);

		sent += n > 0 ? (size_t)n : 0;
		wire_turn(t->l);
	}
	assert_int_equal(sent, before);
}

static void an_end_goes_on_alone(void **state)
{
	struct site *t = *state;

	mover_with(t, STR_NULL);
	wire_send(t->near, STR_LIT("question"));
	assert_int_equal(shutdown(t->near, SHUT_WR), 0);
	wire_turns(t->l, 4);
	assert_true(wire_recv(t->far, &t->got));
	assert_true(str_is(buf_view(&t->got), "question"));
	assert_int_equal(t->over, 0);
	buf_clear(&t->got);
	wire_send(t->far, STR_LIT("answer"));
	fd_close(take_fd(&t->far));
	wire_turns(t->l, 4);
	assert_true(wire_recv(t->near, &t->got));
	assert_true(str_is(buf_view(&t->got), "answer"));
	assert_int_equal(t->over, 1);
}

static void who_is_gone_is_not_waited_for(void **state)
{
	struct site *t = *state;

	mover_with(t, STR_NULL);
	wire_turns(t->l, 2);
	fd_close(take_fd(&t->near));		/* the port says nothing, and would never notice */
	wire_turns(t->l, 4);
	assert_int_equal(t->over, 1);
	assert_true(wire_recv(t->far, &t->got));
}

static void a_reset_is_passed_on(void **state)
{
	const struct linger now = { .l_onoff = 1, .l_linger = 0 };
	struct site *t = *state;

	mover_with(t, STR_NULL);
	wire_turns(t->l, 2);
	assert_int_equal(setsockopt(t->far, SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
	fd_close(take_fd(&t->far));
	wire_turns(t->l, 4);
	assert_int_equal(t->over, 1);
	assert_true(wire_recv(t->near, &t->got));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(words_go_both_ways),
		CASE(much_arrives_whole_at_a_slow_reader),
		CASE(a_reader_that_stops_stops_the_writer),
		CASE(an_end_goes_on_alone),
		CASE(who_is_gone_is_not_waited_for),
		CASE(a_reset_is_passed_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
