/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to a seed: their bytes and fds, and what its end means. */
#include "init/interp/seed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "init/init.h"
#include "loop/loop.h"
#include "unit.h"

static const struct seed_request plain = { .uid = 1000,
	.gid = 100,
	.groups = (gid_t[]) { 7, 8 },
	.n_groups = 2,
	.fds = { 0, 0, 0, 0 } };

static void without(void **state)
{
	struct init in = { 0 };
	uint32_t id;

	(void)state;
	seed_open(&in, -1);
	assert_int_equal(seed_ask(&in, &plain, &id), -ENOTCONN);
}

static void request(void **state)
{
	struct init in = { .loop = loop_new() };
	int pair[2], fds[4];
	uint32_t id = 0, msg[16];
	size_t n_fds;
	struct stat a, b;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	seed_open(&in, pair[0]);
	assert_int_equal(seed_ask(&in, &plain, &id), 0);
	assert_int_equal(id, 1);
	assert_int_equal(fd_recv(pair[1], msg, sizeof(msg), fds, 4, &n_fds), 6 * sizeof(*msg));
	assert_memory_equal(msg, ((uint32_t[]) { 1, 1000, 100, 2, 7, 8 }), 6 * sizeof(*msg));
	assert_int_equal(n_fds, 4);
	assert_int_equal(fstat(0, &a), 0);
	assert_int_equal(fstat(fds[3], &b), 0);
	assert_int_equal(a.st_ino, b.st_ino);
	for (size_t i = 0; i < n_fds; i++)
		close(fds[i]);
	assert_int_equal(seed_ask(&in, &plain, &id), 0);
	assert_int_equal(id, 2);

	/* It takes no more: the caller starts a process itself, and pid 1 is not held up. */
	int r = 0;

	for (int i = 0; i < 100000 && r == 0; i++)
		r = seed_ask(&in, &plain, &id);
	assert_int_equal(r, -EAGAIN);
	close(pair[1]);
	assert_true(seed_ask(&in, &plain, &id) < 0);
	seed_close(&in);
	loop_free(in.loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(without), cmocka_unit_test(request) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
