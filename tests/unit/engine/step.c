/* SPDX-License-Identifier: Apache-2.0 */
/* Units of engine/step: steps arrive in order with their fds, and an error says what failed. */
#include <stdint.h>

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/step.h"
#include "unit.h"

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

/* F8: C fails and ends; B0, which has not read that yet, finds the socket closed. */
static void who_cannot_send_hears_why(void **state)
{
	int *s = *state, before;
	struct err why = ERR_INIT, e = ERR_INIT;

	before = open_fds();
	assert_int_equal(step_send(s[1], STEP_BORN, (int[]) { 0 }, 1, &e), 0);
	(void)err_set(&why, ENOTDIR, "volumes: '/etc/passwd' is a file");
	step_send_error(s[1], &why);
	fd_close(take_fd(&s[1]));
	assert_int_equal(step_send(s[0], STEP_SEATED, NULL, 0, &e), -EPIPE);
	assert_true(step_last_words(s[0], &e));
	assert_int_equal(e.no, ENOTDIR);
	assert_string_equal(e.text, why.text);
	assert_false(step_last_words(s[0], &e)); /* once */
	assert_int_equal(e.no, ENOTDIR);
	assert_int_equal(open_fds(), before - 1);
}

static void no_words_leave_the_error_alone(void **state)
{
	int *s = *state;
	struct err e = ERR_INIT;

	(void)err_set(&e, EPIPE, "own");
	assert_false(step_last_words(-1, &e));
	assert_false(step_last_words(s[0], &e)); /* does not wait */
	fd_close(take_fd(&s[1]));
	assert_false(step_last_words(s[0], &e));
	assert_string_equal(e.text, "own");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(step_brings_its_fds, pair, unpair),
		cmocka_unit_test_setup_teardown(another_step_is_refused_and_leaks_nothing, pair, unpair),
		cmocka_unit_test_setup_teardown(an_error_arrives_as_it_was, pair, unpair),
		cmocka_unit_test_setup_teardown(who_cannot_send_hears_why, pair, unpair),
		cmocka_unit_test_setup_teardown(no_words_leave_the_error_alone, pair, unpair),
		cmocka_unit_test_setup_teardown(silence_and_the_end_are_told_apart, pair, unpair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
