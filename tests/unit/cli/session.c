/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/session: exit statuses. */
#include <signal.h>
#include <stdint.h>

#include "cli/sandbox/session.h"
#include "unit.h"

static int status(int code, bool exited, const char *text)
{
	struct atoll_exit x = { .code = code, .exited = exited };

	for (size_t i = 0; text[i]; i++)
		x.status[i] = text[i];
	return session_exit_status(&x);
}

static void exit_codes_pass_through(void **state)
{
	(void)state;
	assert_int_equal(status(0, true, "exit status 0"), 0);
	assert_int_equal(status(3, true, "exit status 3"), 3);
	assert_int_equal(status(255, true, "exit status 255"), 255);
}

static void signals_become_128_and_more(void **state)
{
	(void)state;
	assert_int_equal(status(-1, false, "signal: killed"), 128 + SIGKILL);
	assert_int_equal(status(-1, false, "signal: terminated"), 128 + SIGTERM);
	assert_int_equal(status(-1, false, "signal: segmentation fault"), 128 + SIGSEGV);
	assert_int_equal(status(-1, false, "signal: something new"), 255);
	assert_int_equal(status(-1, false, ""), 255);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exit_codes_pass_through),
		cmocka_unit_test(signals_become_128_and_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
