/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/cp_path: the two ends of a copy. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sandbox/cp_path.h"
#include "unit.h"

static void check(const char *arg, const char *id, const char *path, bool wants_dir)
{
	struct err e = ERR_INIT;
	struct cp_path p;

	assert_int_equal(cp_path_parse(arg, &p, &e), 0);
	assert_string_equal(p.id, id);
	assert_string_equal(p.path, path);
	assert_int_equal(p.wants_dir, wants_dir);
}

static void a_colon_before_any_slash_means_a_sandbox(void **state)
{
	(void)state;
	check("i0abc:/etc/passwd", "i0abc", "/etc/passwd", false);
	check("i0abc:a:b", "i0abc", "a:b", false);
	check("i0abc:", "i0abc", ".", false);
	check("i0abc:dir/", "i0abc", "dir/", true);
	check("i0abc-6532622b:x", "i0abc-6532622b", "x", false);
	check("./i0abc:x", "", "./i0abc:x", false);
	check("/tmp/a:b", "", "/tmp/a:b", false);
	check("plain", "", "plain", false);
	check("dir/", "", "dir/", true);
}

static void a_dash_is_a_stream_only_here(void **state)
{
	struct err e = ERR_INIT;
	struct cp_path p;

	(void)state;
	assert_int_equal(cp_path_parse("-", &p, &e), 0);
	assert_true(p.is_stream);
	assert_int_equal(cp_path_parse("i0:-", &p, &e), 0);
	assert_false(p.is_stream);
}

static void what_cannot_be_an_id_is_told(void **state)
{
	struct err e = ERR_INIT;
	struct cp_path p;

	(void)state;
	assert_int_equal(cp_path_parse("Foo:bar", &p, &e), -EINVAL);
	assert_non_null(strstr(e.text, "'./Foo:bar'"));
	assert_int_equal(cp_path_parse(":x", &p, &e), -EINVAL);
	assert_int_equal(cp_path_parse("", &p, &e), -EINVAL);
	assert_int_equal(cp_path_parse("a b:x", &p, &e), -EINVAL);
}

static void name_is(const char *path, const char *want)
{
	struct str name = cp_path_name(path);

	assert_true(str_is(name, want));
}

static void names_and_joins(void **state)
{
	char *z;

	(void)state;
	name_is("/a/b", "b");
	name_is("/a/b//", "b");
	name_is("b", "b");
	name_is("/", "");
	name_is("a/.", "");
	name_is("..", "");
	name_is("~", "");
	name_is("", "");
	z = cp_path_join("/a", STR_LIT("b"));
	assert_string_equal(z, "/a/b");
	free(z);
	z = cp_path_join("/a/", STR_LIT("b"));
	assert_string_equal(z, "/a/b");
	free(z);
	z = cp_path_join("x", STR_LIT(""));
	assert_string_equal(z, "x");
	free(z);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_colon_before_any_slash_means_a_sandbox),
		cmocka_unit_test(a_dash_is_a_stream_only_here),
		cmocka_unit_test(what_cannot_be_an_id_is_told),
		cmocka_unit_test(names_and_joins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
