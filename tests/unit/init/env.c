/* SPDX-License-Identifier: Apache-2.0 */
/* Units of init/env: layers, and what a command gets to see. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include <string.h>

#include "base/fd.h"
#include "http/json.h"
#include "init/env.h"
#include "init/users.h"
#include "unit.h"

static const char *lookup(char **env, const char *name)
{
	size_t n = strlen(name), found = 0;
	const char *value = NULL;

	for (; *env; env++) {
		if (strncmp(*env, name, n) == 0 && (*env)[n] == '=') {
			value = *env + n + 1;
			found++;
		}
	}
	assert_true(found <= 1);
	return value;
}

static void template_lines_are_parsed(void **state)
{
	autojson json_t *o = json_object();

	(void)state;
	env_parse(STR_LIT("# comment\nA=1\n\n  B=x=y  \nNOVALUE\n=z\nC=\r\nLANG=C.UTF-8"), o);
	assert_int_equal(json_object_size(o), 4);
	assert_string_equal(json_string_value(json_object_get(o, "B")), "x=y");
	assert_string_equal(json_string_value(json_object_get(o, "C")), "");
	assert_string_equal(json_string_value(json_object_get(o, "LANG")), "C.UTF-8");
}

static void later_layers_win(void **state)
{
	struct user u = { .name = "user", .home = "/home/user", .shell = "/bin/bash", .uid = 1000 };
	autojson json_t *given = json_pack("{s:s,s:s,s:s}", "A", "given", "E2B_SANDBOX", "no", "PATH", "/x");
	autojson json_t *given2 = json_pack("{s:s}", "Z", "2");
	autojson json_t *extra = json_pack("{s:s,s:s}", "A", "extra", "E2B_SANDBOX", "mine");
	struct env v;

	(void)state;
	assert_int_equal(env_init(&v), 0);
	(void)json_object_set_new(v.template_vars, "A", json_string("template"));
	(void)json_object_set_new(v.template_vars, "T", json_string("template"));
	env_give(&v, given);
	assert_string_equal(env_find(&v, "A"), "given");
	assert_string_equal(env_find(&v, "T"), "template");
	assert_string_equal(env_find(&v, "E2B_SANDBOX"), "true");
	assert_null(env_find(&v, "NONE"));
	{
		autofree char **e = env_build(&v, &u, "/bin", NULL);

		assert_string_equal(lookup(e, "A"), "given");
		assert_string_equal(lookup(e, "T"), "template");
		assert_string_equal(lookup(e, "E2B_SANDBOX"), "true"); /* not to be overridden at creation, */
		assert_string_equal(lookup(e, "PATH"), "/x");
		assert_string_equal(lookup(e, "HOME"), "/home/user");
		assert_string_equal(lookup(e, "LOGNAME"), "user");
		assert_string_equal(lookup(e, "SHELL"), "/bin/bash");
	}
	env_give(&v, given2);
	{
		autofree char **e = env_build(&v, &u, "/bin", extra);

		assert_string_equal(lookup(e, "A"), "extra");
		assert_string_equal(lookup(e, "Z"), "2");
		assert_string_equal(lookup(e, "PATH"), "/bin");
		assert_string_equal(lookup(e, "E2B_SANDBOX"), "mine"); /* but by one command for itself */
	}
	env_done(&v);
}

static void odd_names_are_refused_by_field(void **state)
{
	autojson json_t *equals = json_pack("{s:s}", "A=B", "x"), *empty = json_pack("{s:s}", "", "x");
	autojson json_t *number = json_pack("{s:i}", "A", 1), *fine = json_pack("{s:s}", "A", "");
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(env_check(equals, "envVars", &e), -EINVAL);
	assert_non_null(strstr(e.text, "envVars"));
	assert_int_equal(env_check(empty, "envVars", &e), -EINVAL);
	assert_int_equal(env_check(number, "envVars", &e), -EINVAL);
	assert_int_equal(env_check(fine, "envVars", &e), 0);
}

static bool at_start(const char *name)
{
	autojson json_t *given = json_pack("{s:s}", name, "1");
	struct env v;

	assert_int_equal(env_init(&v), 0);
	env_give(&v, given);

	bool yes = env_read_at_start(&v);

	env_done(&v);
	return yes;
}

static void some_variables_are_only_read_when_a_process_starts(void **state)
{
	(void)state;
	assert_true(at_start("PYTHONPATH"));
	assert_true(at_start("LD_PRELOAD"));
	assert_true(at_start("OMP_NUM_THREADS"));
	assert_false(at_start("FOO"));
	assert_false(at_start("PYTHO"));
	assert_false(at_start("MY_PYTHONPATH"));
	assert_false(at_start("TZ")); /* runtimes look again */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(template_lines_are_parsed),
		cmocka_unit_test(later_layers_win),
		cmocka_unit_test(odd_names_are_refused_by_field),
		cmocka_unit_test(some_variables_are_only_read_when_a_process_starts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
