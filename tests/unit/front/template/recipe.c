/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/recipe: what is a recipe, and that nothing of it can become part of a script. */
#include "front/template/recipe.h"
#include "unit.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <errno.h>

static void a_recipe_is_a_suite_components_and_packages(void **state)
{
	struct recipe r;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(recipe_read("mmdebstrap:trixie+contrib+main+non-free,g++,libstdc++6,python3.13", &r, &e), 0);
	assert_string_equal(r.suite, "trixie");
	assert_string_equal(r.components, "main contrib non-free");
	assert_int_equal(json_array_size(r.packages), 3);
	assert_string_equal(json_string_value(json_array_get(r.packages, 2)), "python3.13");
	recipe_done(&r);
	assert_int_equal(recipe_read("mmdebstrap:bookworm-backports", &r, &e), 0);
	assert_string_equal(r.components, "main");
	assert_int_equal(json_array_size(r.packages), 0);
	recipe_done(&r);
}

static void names_reach_the_scripts_as_arguments(void **state)
{
	struct recipe r;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(recipe_read("mmdebstrap:sid,one,two", &r, &e), 0);
	json_t *first = recipe_bootstrap(&r), *second = recipe_install(&r);

	assert_int_equal(json_array_size(first), 6);
	assert_string_equal(json_string_value(json_array_get(first, 3)), "sid");
	assert_null(strstr(json_string_value(json_array_get(first, 1)), "sid"));
	assert_int_equal(json_array_size(second), 5);
	assert_string_equal(json_string_value(json_array_get(second, 4)), "two");
	assert_null(strstr(json_string_value(json_array_get(second, 1)), "two"));
	json_decref(first);
	json_decref(second);
	recipe_done(&r);
}

static void what_is_none_is_refused(void **state)
{
	static const char *const bad[] = {
		"mmdebstrap:",
		"mmdebstrap:,x",
		"mmdebstrap:Trixie",
		"mmdebstrap:-trixie",
		"mmdebstrap:../x",
		"mmdebstrap:a b",
		"mmdebstrap:trixie+",
		"mmdebstrap:trixie+con trib",
		"mmdebstrap:trixie,",
		"mmdebstrap:trixie,a,,b",
		"mmdebstrap:trixie,-o",
		"mmdebstrap:trixie,a=1",
		"mmdebstrap:trixie,a/b",
		"mmdebstrap:trixie,$(id)",
		"mmdebstrap:trixie,a;b",
		"mmdebstrap:trixie,a\nb",
		"mmdebstrap:trixie.1",
	};
	struct recipe r;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct err e = ERR_INIT;

		assert_int_equal(recipe_read(bad[i], &r, &e), -EINVAL);
		assert_non_null(strstr(e.text, "name of a"));
	}
	assert_true(recipe_is("mmdebstrap:x"));
	assert_false(recipe_is("mmdebstrap"));
	assert_false(recipe_is("docker.io/mmdebstrap:x"));
}

/* "mmdebstrap:trixie" and n times the same. */
static const char *with(const char *more, size_t n)
{
	static char text[8192];
	size_t at = (size_t)snprintf(text, sizeof text, "mmdebstrap:trixie");

	for (size_t i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, sizeof text - at, "%s", more);
	return text;
}

static void there_is_an_end_to_it(void **state)
{
	struct recipe r;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(recipe_read(with(",a", 401), &r, &e), -EINVAL);
	assert_non_null(strstr(e.text, "packages"));
	assert_int_equal(recipe_read(with("+contrib", 60), &r, &e), -EINVAL);
	assert_non_null(strstr(e.text, "components"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recipe_is_a_suite_components_and_packages),
		cmocka_unit_test(names_reach_the_scripts_as_arguments),
		cmocka_unit_test(what_is_none_is_refused),
		cmocka_unit_test(there_is_an_end_to_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
