/* SPDX-License-Identifier: Apache-2.0 */
/* Units of engine/helper: what a helper has, when it ends, and who notices. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/helper.h"
#include "unit.h"

struct seen {
	char name[16];
	int n_fds;
	int kept; /* may the fd that was to be kept be used? */
};

static int count_fds(void)
{
	int n = 0;
	DIR *d = opendir("/proc/self/fd");

	while (readdir(d))
		n++;
	(void)closedir(d);
	return n - 3; /* "." and "..", and the directory */
}

static void tell(void *arg, int sock)
{
	struct seen s = { .n_fds = count_fds(), .kept = fcntl(*(int *)arg, F_GETFD) >= 0 };
	char z;

	(void)file_read(AT_FDCWD, "/proc/self/comm", s.name, sizeof s.name);
	(void)send(sock, &s, sizeof s, 0);
	(void)recv(sock, &z, 1, 0);
}

static void it_has_only_what_it_was_given(void **state)
{
	struct helper h = HELPER_NONE;
	struct seen s;
	struct err e;
	int others[20], mine = open("/dev/null", O_RDONLY | O_CLOEXEC), keep[] = { -1, mine, -1, mine };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		others[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_false(helper_alive(&h));
	assert_int_equal(helper_start("helper", keep, ARRAY_LEN(keep), tell, &mine, &h, &e), 0);
	assert_int_equal(recv(h.sock, &s, sizeof s, 0), sizeof s);
	assert_string_equal(s.name, "helper\n");
	assert_int_equal(s.n_fds, 3 + 2); /* stdio, the socket, mine */
	assert_true(s.kept);
	assert_true(helper_alive(&h));
	helper_stop(&h);
	assert_false(helper_alive(&h));
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		close(others[i]);
	close(mine);
}

static void its_death_is_noticed(void **state)
{
	struct helper h = HELPER_NONE;
	struct seen s;
	struct err e;
	int none = -1;

	(void)state;
	assert_int_equal(helper_start("helper", NULL, 0, tell, &none, &h, &e), 0);
	assert_int_equal(recv(h.sock, &s, sizeof s, 0), sizeof s);
	assert_int_equal(kill(h.pid, SIGKILL), 0);
	assert_int_equal(recv(h.sock, &s, sizeof s, 0), 0);
	for (int i = 0; i < 10000 && helper_alive(&h); i++)
		usleep(1000);
	assert_false(helper_alive(&h));
	assert_int_equal(h.sock, -1);
	helper_stop(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_has_only_what_it_was_given),
		cmocka_unit_test(its_death_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
