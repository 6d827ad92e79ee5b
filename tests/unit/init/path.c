/* SPDX-License-Identifier: Apache-2.0 */
/* Units of init/path: what a client's path means. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/fd.h"
#include "init/files/path.h"
#include "unit.h"

static void check_clean(const char *in, const char *want)
{
	autofree char *got = path_clean(in);

	assert_string_equal(got, want);
}

static void path_clean_is_lexical(void **state)
{
	(void)state;
	check_clean("/", "/");
	check_clean("//a///b/", "/a/b");
	check_clean("/a/./b/../c", "/a/c");
	check_clean("/../../a", "/a");
	check_clean("/a/..", "/");
	check_clean("", ".");
	check_clean("a/..", ".");
	check_clean("../a/../..", "../..");
	check_clean("a/b/../../..", "..");
	check_clean("..a/.b", "..a/.b");
}

static void check_resolve(const char *in, const char *workdir, const char *want)
{
	autofree char *got = NULL;

	assert_int_equal(path_resolve(in, "/home/user", workdir, &got), 0);
	assert_string_equal(got, want);
}

static void path_resolve_follows_the_contract(void **state)
{
	char *none = NULL;

	(void)state;
	check_resolve("", NULL, "/home/user");
	check_resolve("", "/code", "/code");
	check_resolve("a", "/code", "/home/user/a"); /* relative is to the home, not to the workdir */
	check_resolve("./a/../b", NULL, "/home/user/b");
	check_resolve("../x", NULL, "/home/x");
	check_resolve("~", NULL, "/home/user");
	check_resolve("~/x/", NULL, "/home/user/x");
	check_resolve("/a/../b//", NULL, "/a/../b//"); /* absolute is kept as it is */
	assert_int_equal(path_resolve("~root/x", "/home/user", NULL, &none), -EINVAL);
	assert_null(none);
}

static void path_base_and_dir_split(void **state)
{
	autofree char *a = path_dir("/a/b/c"), *b = path_dir("/a"), *c = path_dir("/a/b/"),
		      *d = path_join("/x", "../y/z");

	(void)state;
	assert_string_equal(a, "/a/b");
	assert_string_equal(b, "/");
	assert_string_equal(c, "/a/b");
	assert_string_equal(d, "/y/z");
	assert_true(str_is(path_base("/a/b"), "b"));
	assert_true(str_is(path_base("/a/b//"), "b"));
	assert_true(str_is(path_base("/"), "/"));
	assert_true(str_is(path_base("b"), "b"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(path_clean_is_lexical),
		cmocka_unit_test(path_resolve_follows_the_contract),
		cmocka_unit_test(path_base_and_dir_split),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
