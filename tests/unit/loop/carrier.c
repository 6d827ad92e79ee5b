/* SPDX-License-Identifier: Apache-2.0 */
/* Units of loop/carrier: what it carries arrives, and few pipes are large. */
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "loop/carrier.h"
#include "unit.h"

#define MANY 40
#define LARGE_MAX 16 /* as in carrier.c */

static void pair(int fd[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd), 0);
}

static size_t loaded(struct carrier *c, size_t n)
{
	size_t large = 0;

	for (size_t i = 0; i < n; i++) {
		int from[2];

		pair(from);
		assert_int_equal(write(from[0], "bytes", 5), 5);
		c[i] = (struct carrier)CARRIER_EMPTY;
		assert_int_equal(carrier_load(&c[i], from[1], CARRIER_MAX), 5);
		large += fcntl(c[i].pipe[1], F_GETPIPE_SZ) >= CARRIER_MAX;
		fd_close(from[0]);
		fd_close(from[1]);
	}
	return large;
}

static void of_many_pipes_few_are_large(void **state)
{
	struct carrier c[MANY];
	size_t large = 0;

	(void)state;
	for (int round = 0; round < 3; round++) {
		large = loaded(c, MANY);
		assert_true(large <= LARGE_MAX);
		if (geteuid() == 0)
			assert_int_equal(large, LARGE_MAX); /* also those of the rounds before count no more */
		for (size_t i = 0; i < MANY; i++)
			carrier_drop(&c[i]);
	}
}

static void what_is_loaded_is_what_comes_out(void **state)
{
	struct carrier c = CARRIER_EMPTY;
	char got[16] = "";
	int from[2], to[2];

	(void)state;
	pair(from);
	pair(to);
	assert_int_equal(write(from[0], "0123456789", 10), 10);
	assert_int_equal(carrier_load(&c, from[1], 4), 4);
	assert_int_equal(c.n, 4);
	assert_int_equal(carrier_unload(&c, to[0]), 0);
	assert_int_equal(c.n, 0);
	assert_int_equal(c.pipe[0], -1); /* held only while something is in it */
	assert_int_equal(carrier_load(&c, from[1], CARRIER_MAX), 6);
	assert_int_equal(carrier_unload(&c, to[0]), 0);
	assert_int_equal(read(to[1], got, sizeof got), 10);
	assert_string_equal(got, "0123456789");
	assert_int_equal(carrier_load(&c, from[1], CARRIER_MAX), -EAGAIN);
	fd_close(from[0]);
	assert_int_equal(carrier_load(&c, from[1], CARRIER_MAX), 0);
	fd_close(from[1]);
	fd_close(to[0]);
	fd_close(to[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_many_pipes_few_are_large),
		cmocka_unit_test(what_is_loaded_is_what_comes_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
