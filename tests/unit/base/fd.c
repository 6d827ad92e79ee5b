/* SPDX-License-Identifier: Apache-2.0 */
/* Units of base/fd: what a helper process keeps open. */
#include "base/fd.h"
#include "unit.h"

#include <fcntl.h>
#include <sys/wait.h>

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* In a child: the test needs its own fds. */
static int in_child(void)
{
	int keep[] = { 40, -1, 20, 20, 1 };

	for (int fd = 10; fd < 50; fd++) {
		if (dup2(0, fd) < 0)
			return 1;
	}
	fd_close_others(keep, ARRAY_LEN(keep));
	for (int fd = 3; fd < 60; fd++) {
		if (is_open(fd) != (fd == 20 || fd == 40))
			return 2;
	}
	return is_open(0) && is_open(1) && is_open(2) ? 0 : 3;
}

static void only_what_is_named_stays_open(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(in_child());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_is_named_stays_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
