/* SPDX-License-Identifier: Apache-2.0 */
/* Modes as chmod has them. */
#include "base/mode.h"
#include "unit.h"

#include <stdint.h>

#include <errno.h>

static void modes_are_changed_as_by_chmod(void **state)
{
	static const struct {
		const char *text;
		mode_t old;
		bool is_dir;
		mode_t want;
	} cases[] = {
		{ "755", 0600, false, 0755 },
		{ "0644", 0777, false, 0644 },
		{ "4755", 0, false, 04755 },
		{ "0", 0777, false, 0 },
		{ "+x", 0644, false, 0755 },
		{ "-x", 0755, true, 0644 },
		{ "+w", 0444, false, 0666 },
		{ "u+x", 0644, false, 0744 },
		{ "u=rwX,go=rX", 0600, false, 0644 },
		{ "u=rwX,go=rX", 0700, false, 0755 },
		{ "u=rwX,go=rX", 0600, true, 0755 },
		{ "g=u", 0740, false, 0770 },
		{ "go=", 0777, false, 0700 },
		{ "a-w", 0777, false, 0555 },
		{ "=r", 0777, false, 0444 },
		{ "u=g", 0750, false, 0550 },
		{ "u+s", 0755, false, 04755 },
		{ "g+s", 0755, true, 02755 },
		{ "o+s", 0755, false, 0755 },
		{ "+t", 0777, true, 01777 },
		{ "u-s", 06755, false, 02755 },
		{ "u=rw", 04755, false, 0655 },
		{ "ug+r-x", 0111, false, 0441 },
		{ "o=u-w", 0700, false, 0705 },
		{ "u=rwx,g=rx,o=", 0, false, 0750 },
		{ "go+X", 0644, false, 0644 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		mode_t m = 0;

		assert_int_equal(mode_change(cases[i].text, cases[i].old, cases[i].is_dir, &m), 0);
		if (m != cases[i].want)
			fail_msg("'%s' makes of %o: %o, not %o", cases[i].text, cases[i].old, m, cases[i].want);
	}
}

static void others_are_refused(void **state)
{
	static const char *const cases[] = { "", "8", "99", "10000", "77777777777777777777", "7x", "x", "u", "u+q",
		"+x,", ",+x", "u=rw go=r", "u+x,,g+x", "-1", "u=gr", "rwx" };
	mode_t m = 1;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		if (mode_change(cases[i], 0644, false, &m) != -EINVAL)
			fail_msg("'%s' is taken", cases[i]);
	}
	assert_int_equal(m, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modes_are_changed_as_by_chmod),
		cmocka_unit_test(others_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
