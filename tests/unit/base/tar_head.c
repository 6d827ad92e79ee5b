/* SPDX-License-Identifier: Apache-2.0 */
/* Units of base/tar_head: names and records, as both readers of archives see them. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/tar_head.h"
#include "unit.h"

static char block[TAR_BLOCK], text[TAR_NAME_MAX];

static void fill(size_t at, const char *z, size_t n)
{
	memcpy(block + at, z, n);
}

static void a_name_has_its_prefix_only_in_ustar(void **state)
{
	(void)state;
	memset(block, 0, sizeof block);
	fill(TAR_NAME, "file", 4);
	fill(TAR_PREFIX, "some/dir", 8);
	assert_int_equal(tar_name_of(block, STR_NULL, text), 0);
	assert_string_equal(text, "file");
	fill(TAR_MAGIC, "ustar  ", 8); /* GNU's, which has times there */
	assert_int_equal(tar_name_of(block, STR_NULL, text), 0);
	assert_string_equal(text, "file");
	fill(TAR_MAGIC, "ustar\0", 6);
	assert_int_equal(tar_name_of(block, STR_NULL, text), 0);
	assert_string_equal(text, "some/dir/file");
}

static void fields_may_be_full_to_the_last_byte(void **state)
{
	(void)state;
	memset(block, 0, sizeof block);
	memset(block + TAR_NAME, 'n', TAR_NAME_N);
	memset(block + TAR_LINK, 'l', TAR_LINK_N);
	memset(block + TAR_PREFIX, 'p', TAR_PREFIX_N);
	fill(TAR_MAGIC, "ustar\0", 6);
	assert_int_equal(tar_name_of(block, STR_NULL, text), 0);
	assert_int_equal(strlen(text), TAR_PREFIX_N + 1 + TAR_NAME_N);
	assert_int_equal(tar_target_of(block, STR_NULL, text), 0);
	assert_int_equal(strlen(text), TAR_LINK_N);
}

static void a_given_name_counts_more(void **state)
{
	char big[TAR_NAME_MAX];

	(void)state;
	memset(block, 0, sizeof block);
	fill(TAR_NAME, "short", 5);
	assert_int_equal(tar_name_of(block, STR_LIT("given"), text), 0);
	assert_string_equal(text, "given");
	assert_int_equal(tar_target_of(block, STR_LIT("there"), text), 0);
	assert_string_equal(text, "there");
	assert_int_equal(tar_name_of(block, STR_LIT("a\0b"), text), -EBADMSG);
	assert_int_equal(tar_target_of(block, STR_LIT("a\0b"), text), -EBADMSG);
	memset(big, 'x', sizeof big);
	assert_int_equal(tar_name_of(block, (struct str) { big, sizeof big - 1 }, text), 0);
	assert_int_equal(tar_name_of(block, (struct str) { big, sizeof big }, text), -EBADMSG);
}

static void a_name_is_not_empty_but_a_target_may_be(void **state)
{
	(void)state;
	memset(block, 0, sizeof block);
	assert_int_equal(tar_name_of(block, STR_NULL, text), -EBADMSG);
	assert_int_equal(tar_target_of(block, STR_NULL, text), 0);
	assert_string_equal(text, "");
}

static void only_four_types_are_about_the_next_entry(void **state)
{
	unsigned found = 0;

	(void)state;
	for (int c = 0; c < 256; c++) {
		block[TAR_TYPE] = (char)c;
		found += tar_is_extra(block);
		if (tar_is_extra(block))
			assert_true(c == 'x' || c == 'g' || c == 'L' || c == 'K');
	}
	assert_int_equal(found, 4);
}

static void records_come_one_by_one(void **state)
{
	struct str in = STR_LIT("9 path=a\n12 size=1=2\n6 e=\n\n"), key, value;

	(void)state;
	in.n--; /* the last line break belongs to no record */
	assert_int_equal(tar_pax_next(&in, &key, &value), 1);
	assert_true(str_is(key, "path") && str_is(value, "a"));
	assert_int_equal(tar_pax_next(&in, &key, &value), 1);
	assert_true(str_is(key, "size") && str_is(value, "1=2"));
	assert_int_equal(tar_pax_next(&in, &key, &value), -EBADMSG); /* says 6, has 5 */
	in = STR_LIT("5 e=\n");
	assert_int_equal(tar_pax_next(&in, &key, &value), 1);
	assert_true(str_is(key, "e") && value.n == 0 && value.p);
	assert_int_equal(tar_pax_next(&in, &key, &value), 0);
	in = STR_NULL;
	assert_int_equal(tar_pax_next(&in, &key, &value), 0);
}

static void bad_records_are_refused(void **state)
{
	static const char *const bad[] = { "x", "9", "9 ", "0 a=b\n", "1 a=b\n", "3 a=b\n", "6 a=bX", "7 a=b\n",
		"5 ab\n", "5 =b\n", "-6 a=b\n", "99999999999999999999 a=b\n", " a=b\n", "\n" };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct str in = str_of(bad[i]), key = STR_NULL, value = STR_NULL;

		assert_int_equal(tar_pax_next(&in, &key, &value), -EBADMSG);
		assert_true(in.p == bad[i] && !key.p && !value.p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_has_its_prefix_only_in_ustar),
		cmocka_unit_test(fields_may_be_full_to_the_last_byte),
		cmocka_unit_test(a_given_name_counts_more),
		cmocka_unit_test(a_name_is_not_empty_but_a_target_may_be),
		cmocka_unit_test(only_four_types_are_about_the_next_entry),
		cmocka_unit_test(records_come_one_by_one),
		cmocka_unit_test(bad_records_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
