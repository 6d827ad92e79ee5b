/* SPDX-License-Identifier: Apache-2.0 */
/* Units of engine/criu: the reason in its log. */
#include "engine/ckpt/criu.h"
#include "unit.h"

#include <string.h>

static void the_first_error_that_matters_is_the_reason(void **state)
{
	static const char log[] =
	    "Error (criu/tun.c:85): tun: Unable to create tun: No such file or directory\n"
	    "Error (criu/util.c:1534): rlimit: Can't setup RLIMIT_NOFILE for self: Operation not permitted\n"
	    "Warn  (criu/sk-unix.c:1): something\n"
	    "     1: Error (criu/sk-unix.c:884): unix: Can't dump half of stream unix connection.\n"
	    "Error (criu/cr-dump.c:1975): Dumping FAILED.\n";
	char why[160];

	(void)state;
	criu_reason(log, why, sizeof why);
	assert_string_equal(why, "unix: Can't dump half of stream unix connection.");
}

static void a_log_without_an_error_says_so(void **state)
{
	static const char *const logs[] = { "", "\n\n", "Error (", "Error (x): ", "Error (x)", "nothing\nat all" };
	char why[160];

	(void)state;
	for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
		memset(why, 'x', sizeof why);
		criu_reason(logs[i], why, sizeof why);
		assert_true(strlen(why) < sizeof why);
		assert_true(i == 3 ? why[0] == '\0' : strcmp(why, "its log says nothing") == 0);
	}
}

static void a_long_reason_is_cut(void **state)
{
	char why[16];

	(void)state;
	criu_reason("Error (a.c:1): 0123456789abcdefghij", why, sizeof why);
	assert_string_equal(why, "0123456789abcde");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_error_that_matters_is_the_reason),
		cmocka_unit_test(a_log_without_an_error_says_so),
		cmocka_unit_test(a_long_reason_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
