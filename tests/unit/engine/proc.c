/* SPDX-License-Identifier: Apache-2.0 */
/* Units of engine/proc: telling a process from another one with the same pid. */
#include <stdint.h>

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/proc.h"
#include "unit.h"

static void start_time_is_field_22(void **state)
{
	uint64_t v = 0;

	(void)state;
	assert_int_equal(proc_parse_start_time("1 (a) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 2222 23", &v),
	    0);
	assert_int_equal(v, 2222);
	assert_int_equal(
	    proc_parse_start_time("1 (a) S ) 3) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 77 23", &v), 0);
	assert_int_equal(v, 77); /* a name may hold brackets and blanks */
	assert_int_equal(proc_parse_start_time("1 (a) S 3 4", &v), -EBADMSG);
	assert_int_equal(proc_parse_start_time("", &v), -EBADMSG);
}

static void a_wrong_start_time_is_another_process(void **state)
{
	uint64_t start;
	pid_t pid;
	autoclose int fd = -1;
	int other;

	(void)state;
	assert_int_equal(proc_start_time(getpid(), &start), 0);
	assert_int_equal(proc_open(getpid(), start, &fd), 0);
	assert_int_equal(proc_pid_of(fd, &pid), 0);
	assert_int_equal(pid, getpid());
	assert_int_equal(proc_open(getpid(), start + 1, &other), -ESRCH);
	assert_int_equal(proc_open(-5, start, &other), -ESRCH);
}

static void the_end_is_seen(void **state)
{
	uint64_t start;
	autoclose int fd = -1;
	int other;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(proc_start_time(pid, &start), 0);
	assert_int_equal(proc_open(pid, start, &fd), 0);
	assert_int_equal(proc_wait_gone(fd, 1), -ETIMEDOUT);
	assert_int_equal(proc_kill(fd), 0);
	assert_int_equal(proc_wait_gone(fd, 5000), 0);
	assert_int_equal(proc_open(pid, start, &other), -ESRCH); /* a zombie is no sandbox */
	(void)waitpid(pid, NULL, 0);
	assert_int_equal(proc_kill(fd), 0); /* again: no error */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(start_time_is_field_22),
		cmocka_unit_test(a_wrong_start_time_is_another_process),
		cmocka_unit_test(the_end_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
