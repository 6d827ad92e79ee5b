/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/terminal: the keys that leave. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sandbox/terminal.h"
#include "unit.h"

static bool left;

/* What is sent of the keys, typed in one go or one by one. */
static const char *typed(const char *keys, size_t piece)
{
	static char out[256];
	struct escape x = { 0 };
	size_t n = 0, len = strlen(keys);

	left = false;
	for (size_t i = 0; i < len && !left; i += piece)
		n += escape_filter(&x, keys + i, len - i < piece ? len - i : piece, out + n, &left);
	out[n] = '\0';
	return out;
}

static void check(const char *keys, const char *want, bool leaves)
{
	assert_string_equal(typed(keys, 100), want);
	assert_int_equal(left, leaves);
	assert_string_equal(typed(keys, 1), want);
	assert_int_equal(left, leaves);
}

static void tilde_and_dot_leave_at_the_start_of_a_line(void **state)
{
	(void)state;
	check("~.", "", true);
	check("ls\r~.more", "ls\r", true);
	check("ls\n~.", "ls\n", true);
}

static void other_keys_pass(void **state)
{
	(void)state;
	check("cd ~.\r", "cd ~.\r", false);
	check("~/bin/x\r", "~/bin/x\r", false);
	check("\r~~.\r", "\r~.\r", false);
	check("a~\r~\r~x", "a~\r~\r~x", false);
	check("\003\004\033[A", "\003\004\033[A", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tilde_and_dot_leave_at_the_start_of_a_line),
		cmocka_unit_test(other_keys_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
