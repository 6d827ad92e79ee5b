/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/template: references to templates. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>

#include "front/sandbox/template.h"
#include "unit.h"

static const struct msg_template have[] = {
	{ "base", "0123456789abcdef0123456789abcdef" },
	{ "python3", "fedcba9876543210fedcba9876543210" },
};
static struct templates all;
static struct err e;

static int set_up(void **state)
{
	(void)state;
	return templates_init(&all, have, 2, &e);
}

static const struct template *find(const char *ref)
{
	const struct template *tp;

	return templates_find(&all, str_of(ref), &tp, &e) < 0 ? NULL : tp;
}

static void well_known_names_fall_back_to_base(void **state)
{
	(void)state;
	assert_string_equal(find("code-interpreter-v1")->key, have[0].key);
	assert_string_equal(find("node-js")->key, have[0].key);
	assert_string_equal(find("python3")->key, have[1].key); /* the warden has it */
	assert_int_equal(all.n, 5);
}

static void references_are_lenient_in_form(void **state)
{
	(void)state;
	assert_string_equal(find(" Base ")->name, "base");
	assert_string_equal(find("base:default")->name, "base");
	assert_string_equal(find("default/base:default")->name, "base");
	assert_string_equal(find(find("base")->id)->name, "base");
	assert_int_equal(strlen(find("base")->id), 20);
}

static void what_is_missing_is_named(void **state)
{
	(void)state;
	assert_null(find("no-such-thing"));
	assert_string_equal(e.text, "template 'no-such-thing' not found");
	assert_int_equal(e.no, ENOENT);
	assert_null(find("base:v2"));
	assert_string_equal(e.text, "tag 'v2' does not exist for template 'base'");
	assert_null(find("other/base"));
	assert_null(find(""));
	assert_null(find("base/"));
	assert_null(
	    find("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"));
}

static void forms_of_references(void **state)
{
	static const char *const good[] = { "base", " Base ", "a/b:v1.2", "x_y-z" };
	static const char *const bad[] = { "", " ", "a b", "a/", "/b", "a:", ":t", "a/b/c", "a:b:c", "\xef\xbf\xbd",
		"../x", "a.b" };

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		assert_true(template_ref_valid(str_of(good[i])));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(template_ref_valid(str_of(bad[i])));
}

static void base_must_be_there(void **state)
{
	struct templates t;

	(void)state;
	assert_int_equal(templates_init(&t, have + 1, 1, &e), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(well_known_names_fall_back_to_base),
		cmocka_unit_test(references_are_lenient_in_form),
		cmocka_unit_test(what_is_missing_is_named),
		cmocka_unit_test(forms_of_references),
		cmocka_unit_test(base_must_be_there),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
