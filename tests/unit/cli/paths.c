/* SPDX-License-Identifier: Apache-2.0 */
/* cli/paths: the run directory that goes with a state directory. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/str.h"
#include "cli/paths.h"
#include "unit.h"

static void usual_state_has_the_usual_run_directory(void **state)
{
	autofree char *a = path_run_dir("/var/lib/atoll");
	autofree char *b = path_run_dir("/var/lib/atoll//");

	(void)state;
	assert_string_equal(a, "/run/atoll/main");
	assert_string_equal(b, "/run/atoll/main");
}

static void other_states_do_not_meet(void **state)
{
	autofree char *a = path_run_dir("/srv/one/state");
	autofree char *b = path_run_dir("/srv/two/state");
	autofree char *again = path_run_dir("/srv/one/state/");

	(void)state;
	assert_string_not_equal(a, b);
	assert_string_equal(a, again);
	assert_int_equal(strncmp(a, "/run/atoll/", 11), 0);
}

static void relative_paths_become_absolute(void **state)
{
	autofree char *a = path_absolute("/a/b");
	autofree char *b = path_absolute("c");

	(void)state;
	assert_string_equal(a, "/a/b");
	assert_int_equal(b[0], '/');
	assert_string_equal(strrchr(b, '/'), "/c");
}

static void a_program_that_is_missing_is_named(void **state)
{
	struct err e;

	(void)state;
	for (int which = 0; which < N_PROGRAMS; which++) {
		struct paths p = { .build_script = strdup("/bin/sh") };

		for (int i = 0; i < N_PROGRAMS; i++)
			p.program[i] = i == which ? str_fmt("/nowhere/%s", program_name((enum program)i))
						  : strdup("/bin/sh");
		e = ERR_INIT;
		assert_int_equal(paths_check(&p, &e), -ENOENT);
		assert_non_null(strstr(e.text, program_name((enum program)which)));
		paths_done(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(usual_state_has_the_usual_run_directory),
		cmocka_unit_test(other_states_do_not_meet),
		cmocka_unit_test(relative_paths_become_absolute),
		cmocka_unit_test(a_program_that_is_missing_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
