/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/upstream: idle connections. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "front/link/upstream.h"
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
	upstream_put(&p, good[0], 0);
	upstream_put(&p, closed[0], 0);
	upstream_put(&p, noisy[0], 0);
	fd_close(closed[1]);
	assert_int_equal(write(noisy[1], "x", 1), 1);
	assert_int_equal(upstream_take(&p), good[0]);
	assert_int_equal(upstream_take(&p), -1);
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
		upstream_put(&p, v[i][0], i);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_quiet_connections_are_given_out),
		cmocka_unit_test(old_and_surplus_ones_are_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
