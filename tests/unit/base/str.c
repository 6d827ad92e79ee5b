/* SPDX-License-Identifier: Apache-2.0 */
/* Units of base/str: cutting, folding, numbers. */
#include <errno.h>
#include <stdint.h>

#include "base/str.h"
#include "unit.h"

static void str_cut_walks_a_list(void **state)
{
	struct str s = STR_LIT("a,,b");

	(void)state;
	assert_true(str_is(str_cut(&s, ','), "a"));
	assert_true(str_is(str_cut(&s, ','), ""));
	assert_true(str_is(str_cut(&s, ','), "b"));
	assert_null(s.p);
}

static void str_numbers_are_whole_and_in_range(void **state)
{
	uint64_t u = 77;
	int64_t i = 77;

	(void)state;
	assert_int_equal(str_to_u64(STR_LIT("18446744073709551615"), UINT64_MAX, &u), 0);
	assert_true(u == UINT64_MAX);
	assert_int_equal(str_to_u64(STR_LIT("18446744073709551616"), UINT64_MAX, &u), -ERANGE);
	assert_int_equal(str_to_u64(STR_LIT("12x"), 100, &u), -EINVAL);
	assert_int_equal(str_to_u64(STR_LIT(""), 100, &u), -EINVAL);
	assert_int_equal(str_to_u64(STR_LIT("101"), 100, &u), -ERANGE);
	assert_int_equal(str_to_i64(STR_LIT("-5"), -5, 5, &i), 0);
	assert_int_equal(i, -5);
	assert_int_equal(str_to_i64(STR_LIT("-6"), -5, 5, &i), -ERANGE);
	assert_int_equal(str_to_i64(STR_LIT("-"), -5, 5, &i), -EINVAL);
}

static void str_copy_refuses_what_does_not_fit(void **state)
{
	char z[4] = "xyz";

	(void)state;
	assert_true(str_copy(z, sizeof z, STR_LIT("abc")));
	assert_string_equal(z, "abc");
	assert_false(str_copy(z, sizeof z, STR_LIT("abcd")));
	assert_string_equal(z, "");
}

static void str_folds_ascii_only(void **state)
{
	(void)state;
	assert_true(str_ieq(STR_LIT("Content-TYPE"), STR_LIT("content-type")));
	assert_false(str_ieq(STR_LIT("a"), STR_LIT("ab")));
	assert_true(str_is(str_trim(STR_LIT(" \t x y\t ")), "x y"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(str_cut_walks_a_list),
		cmocka_unit_test(str_numbers_are_whole_and_in_range),
		cmocka_unit_test(str_copy_refuses_what_does_not_fit),
		cmocka_unit_test(str_folds_ascii_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
