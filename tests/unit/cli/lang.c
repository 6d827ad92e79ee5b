/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/lang: how a program file is run. */
#include <stdint.h>
#include <string.h>

#include "cli/sandbox/lang.h"
#include "unit.h"

static void by_extension(void **state)
{
	struct lang l;

	(void)state;
	assert_true(lang_by_extension("a/b.py", &l));
	assert_string_equal(l.words[0], "python3");
	assert_true(lang_by_extension("x.mjs", &l));
	assert_string_equal(l.words[0], "node");
	assert_true(lang_by_extension("x.sh", &l));
	assert_string_equal(l.words[0], "bash");
	assert_false(lang_by_extension("x.txt", &l));
	assert_false(lang_by_extension("py", &l));
}

static void by_name_in_any_case(void **state)
{
	struct lang l;

	(void)state;
	assert_true(lang_by_name("Python", &l));
	assert_string_equal(l.extension, ".py");
	assert_true(lang_by_name("js", &l));
	assert_string_equal(l.words[0], "node");
	assert_false(lang_by_name("cobol", &l));
	assert_false(lang_by_name("", &l));
}

static void by_first_line_as_the_kernel_does(void **state)
{
	struct lang l;

	(void)state;
	assert_true(lang_by_first_line(STR_LIT("#!/usr/bin/env python3\nprint(1)\n"), &l));
	assert_int_equal(l.n, 2);
	assert_string_equal(l.words[0], "/usr/bin/env");
	assert_string_equal(l.words[1], "python3");
	assert_true(lang_by_first_line(STR_LIT("#! /bin/sh -e -x \r\n"), &l));
	assert_int_equal(l.n, 2);
	assert_string_equal(l.words[0], "/bin/sh");
	assert_string_equal(l.words[1], "-e -x"); /* one argument, however many words */
	assert_true(lang_by_first_line(STR_LIT("#!/bin/sh"), &l));
	assert_int_equal(l.n, 1);
}

static void other_first_lines_do_not_count(void **state)
{
	char text[1000];
	struct lang l;

	(void)state;
	assert_false(lang_by_first_line(STR_LIT("print(1)\n"), &l));
	assert_false(lang_by_first_line(STR_LIT("#!\n/bin/sh\n"), &l));
	assert_false(lang_by_first_line(STR_LIT("#!python3\n"), &l));
	assert_false(lang_by_first_line(STR_LIT("#!/bin/s\0h\n"), &l));
	assert_false(lang_by_first_line(STR_LIT(""), &l));
	memset(text, 'a', sizeof(text));
	memcpy(text, "#!/", 3);
	assert_false(lang_by_first_line((struct str) { text, sizeof(text) }, &l));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_extension),
		cmocka_unit_test(by_name_in_any_case),
		cmocka_unit_test(by_first_line_as_the_kernel_does),
		cmocka_unit_test(other_first_lines_do_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
