/* SPDX-License-Identifier: Apache-2.0 */
/* Units of egress/relay: bytes and ends, both ways. */
#include <stdint.h>

#include <stdlib.h>
#include <string.h>

#include "../http/wire.h"
#include "egress/relay.h"
#include "unit.h"

#define MUCH (3 * 1024 * 1024)

static struct loop *l;
static int a[2], b[2], ends; /* the tests hold [0], the relay has [1] */
static struct relay *r;

static void on_end(void *user)
{
	(void)user;
	ends++;
	r = NULL;
}

static int set_up(void **state)
{
	(void)state;
	l = loop_new();
	wire_pair(a);
	wire_pair(b);
	ends = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	relay_free(take_ptr(&r));
	fd_close(a[0]);
	fd_close(b[0]);
	wire_turn(l);
	loop_free(l);
	return 0;
}

static void start(struct str first)
{
	r = relay_new(l, a[1], b[1], first, on_end, NULL);
	assert_non_null(r);
}

static void first_bytes_come_first(void **state)
{
	autobuf struct buf got = BUF_INIT(1 << 20);

	(void)state;
	wire_send(a[0], STR_LIT(" world"));
	start(STR_LIT("hello"));
	wire_turns(l, 5);
	(void)wire_recv(b[0], &got);
	assert_int_equal(got.n, 11);
	assert_memory_equal(got.p, "hello world", 11);
}

/* More than any buffer on the way takes, both ways at once. */
static void all_of_it_arrives_however_slow_the_reader(void **state)
{
	static char out[MUCH];
	autobuf struct buf back = BUF_INIT(4 * MUCH), there = BUF_INIT(4 * MUCH);
	size_t sent[2] = { 0, 0 };

	(void)state;
	for (size_t i = 0; i < MUCH; i++)
		out[i] = (char)(i * 7 + i / 1000);
	start(STR_NULL);
	for (int i = 0; i < 2000 && (there.n < MUCH || back.n < MUCH); i++) {
		int fds[2] = { a[0], b[0] };

		for (int k = 0; k < 2; k++) {
			ssize_t n = sent[k] < MUCH
			    ? send(fds[k], out + sent[k], MUCH - sent[k], MSG_NOSIGNAL | MSG_DONTWAIT)
			    : 0;

			sent[k] += n > 0 ? (size_t)n : 0;
		}
		wire_turn(l);
		if (i % 3 == 0)
			(void)wire_recv(b[0], &there);
		if (i % 5 == 0)
			(void)wire_recv(a[0], &back);
	}
	assert_int_equal(there.n, MUCH);
	assert_int_equal(back.n, MUCH);
	assert_memory_equal(there.p, out, MUCH);
	assert_memory_equal(back.p, out, MUCH);
}

static void a_side_can_end_before_the_other(void **state)
{
	autobuf struct buf got = BUF_INIT(1 << 20);

	(void)state;
	start(STR_NULL);
	wire_send(a[0], STR_LIT("question"));
	assert_int_equal(shutdown(a[0], SHUT_WR), 0);
	wire_turns(l, 5);
	assert_true(wire_recv(b[0], &got));
	assert_int_equal(got.n, 8);
	assert_int_equal(ends, 0);
	buf_clear(&got);
	wire_send(b[0], STR_LIT("answer"));
	assert_int_equal(shutdown(b[0], SHUT_WR), 0);
	wire_turns(l, 5);
	assert_true(wire_recv(a[0], &got));
	assert_int_equal(got.n, 6);
	assert_int_equal(ends, 1);
}

static void a_peer_that_is_gone_ends_it(void **state)
{
	autobuf struct buf got = BUF_INIT(1 << 20);

	(void)state;
	start(STR_NULL);
	fd_close(take_fd(&b[0]));
	wire_send(a[0], STR_LIT("x"));
	wire_turns(l, 5);
	assert_int_equal(ends, 1);
	assert_true(wire_recv(a[0], &got));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(first_bytes_come_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(all_of_it_arrives_however_slow_the_reader, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_side_can_end_before_the_other, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_peer_that_is_gone_ends_it, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
