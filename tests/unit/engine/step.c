/* SPDX-License-Identifier: Apache-2.0 */
/* Units of engine/step: steps arrive in order with their fds, and an error says what failed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/step.h"

static int pair(void **state)
{
	static int s[2];

	*state = s;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s);
}

static int unpair(void **state)
{
	int *s = *state;

	fd_close(s[0]);
	fd_close(s[1]);
	return 0;
}

static int open_fds(void)
{
	int n = 0;

	for (int i = 0; i < 256; i++)
		n += fcntl(i, F_GETFD) >= 0;
	return n;
}

static void step_brings_its_fds(void **state)
{
	int *s = *state, got[2];
	struct err e = ERR_INIT;

	assert_int_equal(step_send(s[0], STEP_MOUNTS, (int[]) { 0, 1 }, 2, &e), 0);
	assert_int_equal(step_recv(s[1], STEP_MOUNTS, got, 2, 100, &e), 0);
	assert_true(fcntl(got[0], F_GETFD) & FD_CLOEXEC);
	close(got[0]);
	close(got[1]);
}

static void another_step_is_refused_and_leaks_nothing(void **state)
{
	int *s = *state, got = -1, before = open_fds();
	struct err e = ERR_INIT;

	assert_int_equal(step_send(s[0], STEP_BORN, (int[]) { 0 }, 1, &e), 0);
	assert_int_equal(step_recv(s[1], STEP_LINKED, &got, 1, 100, &e), -EBADMSG);
	assert_int_equal(step_send(s[0], STEP_BORN, NULL, 0, &e), 0);
	assert_int_equal(step_recv(s[1], STEP_BORN, &got, 1, 100, &e), -EBADMSG);
	assert_int_equal(got, -1);
	assert_int_equal(open_fds(), before);
}

static void an_error_arrives_as_it_was(void **state)
{
	int *s = *state;
	struct err why = ERR_INIT, e = ERR_INIT;

	(void)err_set(&why, EPERM, "mount proc");
	step_send_error(s[0], &why);
	assert_int_equal(step_recv(s[1], STEP_BORN, NULL, 0, 100, &e), -EPERM);
	assert_string_equal(e.text, "mount proc");
}

static void silence_and_the_end_are_told_apart(void **state)
{
	int *s = *state;
	struct err e = ERR_INIT;

	assert_int_equal(step_recv(s[1], STEP_BORN, NULL, 0, 1, &e), -ETIMEDOUT);
	close(take_fd(&s[0]));
	assert_int_equal(step_recv(s[1], STEP_BORN, NULL, 0, 1, &e), -EPIPE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(step_brings_its_fds, pair, unpair),
		cmocka_unit_test_setup_teardown(another_step_is_refused_and_leaks_nothing, pair, unpair),
		cmocka_unit_test_setup_teardown(an_error_arrives_as_it_was, pair, unpair),
		cmocka_unit_test_setup_teardown(silence_and_the_end_are_told_apart, pair, unpair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
