/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/upstream: idle connections. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <sys/socket.h>

#include "../../http/wire.h"
#include "base/fd.h"
#include "front/link/upstream.h"
#include "loop/loop.h"
#include "loop/stream.h"
#include "unit.h"

static void pair(int v[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, v), 0);
}

static void only_quiet_connections_are_given_out(void **state)
{
	struct upstream_idle p = { 0 };
	int good[2], closed[2], noisy[2];

	(void)state;
	pair(good);
	pair(closed);
	pair(noisy);
	upstream_put_fd(&p, good[0], 0);
	upstream_put_fd(&p, closed[0], 0);
	upstream_put_fd(&p, noisy[0], 0);
	fd_close(closed[1]);
	assert_int_equal(write(noisy[1], "x", 1), 1);
	assert_int_equal(upstream_take_fd(&p), good[0]);
	assert_int_equal(upstream_take_fd(&p), -1);
	fd_close(good[0]);
	fd_close(good[1]);
	fd_close(noisy[1]);
}

static void old_and_surplus_ones_are_closed(void **state)
{
	struct upstream_idle p = { 0 };
	int v[UPSTREAM_IDLE_MAX + 1][2];

	(void)state;
	for (size_t i = 0; i < UPSTREAM_IDLE_MAX + 1; i++) {
		pair(v[i]);
		upstream_put_fd(&p, v[i][0], i);
	}
	assert_int_equal(p.n, UPSTREAM_IDLE_MAX);
	assert_int_equal(fcntl(v[UPSTREAM_IDLE_MAX][0], F_GETFD), -1);
	upstream_expire(&p, UPSTREAM_IDLE_MS + 1);
	assert_int_equal(p.n, UPSTREAM_IDLE_MAX - 2);
	assert_int_equal(p.idle[0].fd, v[2][0]);
	upstream_close_all(&p);
	assert_int_equal(fcntl(v[2][0], F_GETFD), -1);
	for (size_t i = 0; i < UPSTREAM_IDLE_MAX + 1; i++)
		fd_close(v[i][1]);
}

static void on_data(void *user, struct str data)
{
	(void)user;
	(void)data;
	fail();
}

static void on_eof(void *user)
{
	(void)user;
	fail();
}

static void on_error(void *user, int no)
{
	(void)user;
	(void)no;
	fail();
}

static const struct stream_ops ops = { .on_data = on_data, .on_eof = on_eof, .on_error = on_error };

/* As a call leaves it: it was read, and is not read any more. */
static struct stream *idle_stream(struct loop *l, int fd)
{
	struct stream *s;

	assert_int_equal(fd_nonblock(fd, true), 0);
	s = stream_new(l, fd, &ops, NULL);
	assert_non_null(s);
	stream_read(s, true);
	stream_rebind(s, &ops, NULL);
	return s;
}

static void the_loop_sees_which_connections_are_quiet(void **state)
{
	struct loop *l = loop_new();
	struct upstream_idle p = { 0 };
	int good[2], closed[2], noisy[2];
	struct stream *s;

	(void)state;
	pair(good);
	pair(closed);
	pair(noisy);
	upstream_put(&p, idle_stream(l, good[0]), 0);
	upstream_put(&p, idle_stream(l, closed[0]), 0);
	upstream_put(&p, idle_stream(l, noisy[0]), 0);
	wire_turns(l, 2);
	fd_close(closed[1]);
	assert_int_equal(write(noisy[1], "x", 1), 1);
	wire_turns(l, 2);
	s = upstream_take(&p, l);
	assert_non_null(s);
	assert_int_equal(stream_fd(s), good[0]);
	assert_null(upstream_take(&p, l));
	assert_int_equal(fcntl(closed[0], F_GETFD), -1);
	upstream_put(&p, s, 0);
	assert_int_equal(upstream_take_fd(&p), good[0]);
	upstream_put(&p, idle_stream(l, good[0]), 0);
	upstream_close_all(&p);
	assert_int_equal(fcntl(good[0], F_GETFD), -1);
	fd_close(good[1]);
	fd_close(noisy[1]);
	loop_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_quiet_connections_are_given_out),
		cmocka_unit_test(the_loop_sees_which_connections_are_quiet),
		cmocka_unit_test(old_and_surplus_ones_are_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
