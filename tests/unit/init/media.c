/* SPDX-License-Identifier: Apache-2.0 */
/* Units of init/media: ranges, types, names, codings and dates of downloads. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "init/files/media.h"
#include "unit.h"

static void check_range(const char *range, int want, uint64_t from, uint64_t n)
{
	uint64_t got_from = 0, got_n = 0;

	assert_int_equal(media_range(str_of(range), 10, &got_from, &got_n), want);
	if (want == 1) {
		assert_int_equal(got_from, from);
		assert_int_equal(got_n, n);
	}
}

static void ranges_stay_inside_the_file(void **state)
{
	uint64_t from, n;

	(void)state;
	check_range("bytes=0-0", 1, 0, 1);
	check_range("bytes=2-4", 1, 2, 3);
	check_range("bytes=5-", 1, 5, 5);
	check_range("bytes=5-99999999999", 1, 5, 5);
	check_range("bytes=-3", 1, 7, 3);
	check_range("bytes=-30", 1, 0, 10);
	check_range("bytes=9-18446744073709551615", 1, 9, 1);
	check_range("bytes=10-", -ERANGE, 0, 0);
	check_range("bytes=-0", -ERANGE, 0, 0);
	check_range("bytes=4-2", 0, 0, 0);
	check_range("bytes=0-1,3-4", 0, 0, 0);
	check_range("bytes=-", 0, 0, 0);
	check_range("bytes=x-1", 0, 0, 0);
	check_range("bytes=99999999999999999999-", 0, 0, 0);
	check_range("lines=1-2", 0, 0, 0);
	check_range("", 0, 0, 0);
	assert_int_equal(media_range(STR_LIT("bytes=-5"), 0, &from, &n), -ERANGE);
}

static void types_come_from_the_name_first(void **state)
{
	(void)state;
	assert_string_equal(media_type(STR_LIT("a.PNG"), STR_LIT("text")), "image/png");
	assert_string_equal(media_type(STR_LIT("a.b.html"), STR_LIT("")), "text/html; charset=utf-8");
	assert_string_equal(media_type(STR_LIT("noext"), STR_LIT("hello\n")), "text/plain; charset=utf-8");
	assert_string_equal(media_type(STR_LIT("noext"), STR_LIT("a\0b")), "application/octet-stream");
	assert_string_equal(media_type(STR_LIT("x."), STR_LIT("")), "text/plain; charset=utf-8");
}

static void check_name(const char *name, const char *want)
{
	autobuf struct buf out = BUF_INIT(1024);

	media_disposition(&out, str_of(name));
	assert_string_equal(buf_cstr(&out), want);
}

static void names_cannot_break_a_header(void **state)
{
	(void)state;
	check_name("a.txt", "inline; filename=a.txt");
	check_name("a b\"c\\.txt", "inline; filename=\"a b\\\"c\\\\.txt\"");
	check_name("a\r\nX: y", "inline; filename*=utf-8''a%0D%0AX%3A%20y");
	check_name("\xc3\xa4", "inline; filename*=utf-8''%C3%A4");
}

static void gzip_is_sent_to_who_asks_for_nothing_else(void **state)
{
	(void)state;
	assert_int_equal(media_coding(STR_NULL, false), MEDIA_IDENTITY);
	assert_int_equal(media_coding(STR_LIT(""), false), MEDIA_IDENTITY);
	assert_int_equal(media_coding(STR_LIT("gzip"), false), MEDIA_GZIP);
	assert_int_equal(media_coding(STR_LIT(" GZip ; q=0.5 , identity;q=0.1"), false), MEDIA_GZIP);
	assert_int_equal(media_coding(STR_LIT("gzip, deflate, br"), false), MEDIA_IDENTITY);
	assert_int_equal(media_coding(STR_LIT("gzip;q=0"), false), MEDIA_IDENTITY);
	assert_int_equal(media_coding(STR_LIT("identity, gzip"), false), MEDIA_IDENTITY);
	assert_int_equal(media_coding(STR_LIT("br"), false), MEDIA_IDENTITY);
	assert_int_equal(media_coding(STR_LIT("*"), false), MEDIA_IDENTITY);
	assert_int_equal(media_coding(STR_LIT("gzip"), true), MEDIA_IDENTITY);
}

static void identity_is_refused_only_in_words(void **state)
{
	(void)state;
	assert_int_equal(media_coding(STR_LIT("gzip, *;q=0.0, identity;q=0.1"), true), MEDIA_IDENTITY);
	assert_int_equal(media_coding(STR_LIT("gzip, deflate, identity;q=0"), false), MEDIA_GZIP);
	assert_int_equal(media_coding(STR_LIT("gzip;q=1, *;q=0"), false), MEDIA_GZIP);
	assert_int_equal(media_coding(STR_LIT("gzip, identity;q=0"), true), MEDIA_NEITHER);
	assert_int_equal(media_coding(STR_LIT("*;q=0"), false), MEDIA_NEITHER);
	assert_int_equal(media_coding(STR_LIT("br, identity;q=0.000"), false), MEDIA_NEITHER);
	assert_int_equal(media_coding(STR_LIT("identity;q=0, *;q=0.1"), false), MEDIA_GZIP);
}

static void dates_go_both_ways(void **state)
{
	char text[MEDIA_DATE_SIZE];
	time_t t = 0;

	(void)state;
	media_date(784887151, text);
	assert_string_equal(text, "Tue, 15 Nov 1994 08:12:31 GMT");
	assert_true(media_date_parse(str_of(text), &t));
	assert_int_equal(t, 784887151);
	assert_false(media_date_parse(STR_LIT("Tue, 15 Xxx 1994 08:12:31 GMT"), &t));
	assert_false(media_date_parse(STR_LIT("Tue, 15 anF 1994 08:12:31 GMT"), &t));
	assert_false(media_date_parse(STR_LIT("1994-11-15"), &t));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_stay_inside_the_file),
		cmocka_unit_test(types_come_from_the_name_first),
		cmocka_unit_test(names_cannot_break_a_header),
		cmocka_unit_test(gzip_is_sent_to_who_asks_for_nothing_else),
		cmocka_unit_test(identity_is_refused_only_in_words),
		cmocka_unit_test(dates_go_both_ways),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
