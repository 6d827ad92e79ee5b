/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/snapshots: names. */
#include "front/sandbox/snapshots.h"
#include "unit.h"

#include <string.h>

#include <errno.h>

static void a_name_is_taken_apart(void **state)
{
	static const struct {
		const char *text, *namespace, *name, *tag;
		bool has_tag;
	} good[] = {
		{ "a", "", "a", "default", false },
		{ " Mine ", "", "mine", "default", false },
		{ "team/Snap_1", "team", "snap_1", "default", false },
		{ "a:v1.2", "", "a", "v1.2", true },
		{ "t/a:Default", "t", "a", "default", true },
	};
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		struct snapshot_ref ref;

		assert_int_equal(snapshot_ref_parse(str_of(good[i].text), &ref, &e), 0);
		assert_string_equal(ref.namespace, good[i].namespace);
		assert_string_equal(ref.name, good[i].name);
		assert_string_equal(ref.tag, good[i].tag);
		assert_int_equal(ref.has_tag, good[i].has_tag);
	}
}

static void what_is_no_name_is_refused(void **state)
{
	static const char *const bad[] = { "", " ", ":", "a:", "/a", "a/", "a/b/c", "a b", "a:b c", "a:b:c", "\xc3\xbc",
		"a/b:", "..", "a\n" };
	char longest[TEMPLATE_NAME_SIZE + 1];
	struct snapshot_ref ref;
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(snapshot_ref_parse(str_of(bad[i]), &ref, &e), -EINVAL);
	memset(longest, 'a', sizeof longest - 1);
	longest[sizeof longest - 1] = '\0';
	assert_int_equal(snapshot_ref_parse(str_of(longest), &ref, &e), -EINVAL);
	longest[sizeof longest - 2] = '\0';
	assert_int_equal(snapshot_ref_parse(str_of(longest), &ref, &e), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_taken_apart),
		cmocka_unit_test(what_is_no_name_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
