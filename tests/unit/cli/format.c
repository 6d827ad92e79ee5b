/* SPDX-License-Identifier: Apache-2.0 */
/* cli/format: sizes, durations and foreign text. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/format.h"
#include "unit.h"

static int64_t parse(const char *z)
{
	uint64_t s;
	int rc = duration_parse(str_of(z), 1000000, &s);

	return rc < 0 ? rc : (int64_t)s;
}

static void durations_are_read(void **state)
{
	(void)state;
	assert_int_equal(parse("0"), 0);
	assert_int_equal(parse("90"), 90);
	assert_int_equal(parse("90s"), 90);
	assert_int_equal(parse("15m"), 900);
	assert_int_equal(parse("1h"), 3600);
	assert_int_equal(parse("1h30m"), 5400);
	assert_int_equal(parse("1d2h3m4s"), 93784);
	assert_int_equal(parse("1w"), 604800);
}

static void other_durations_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"h",
		"-1",
		"+1",
		"1.5h",
		"1 h",
		"1h30",
		"30m1h",
		"1m1m",
		"1H",
		"1hh",
		" 1h",
		"1h ",
		"0x10",
		"1ms",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(parse(bad[i]), -EINVAL);
	assert_true(parse("1000001") < 0);
	assert_int_equal(parse("1000000"), 1000000);
	assert_int_equal(parse("277h47m"), -ERANGE);
	assert_int_equal(parse("99999999999999999999h"), -ERANGE);
}

static const char *duration(uint64_t s)
{
	static char text[FORMAT_SIZE];

	duration_format(s, text);
	return text;
}

static const char *size(uint64_t n)
{
	static char text[FORMAT_SIZE];

	size_format(n, text);
	return text;
}

static void durations_are_written(void **state)
{
	(void)state;
	assert_string_equal(duration(0), "0s");
	assert_string_equal(duration(59), "59s");
	assert_string_equal(duration(250), "4m10s");
	assert_string_equal(duration(3600 * 3 + 300), "3h5m");
	assert_string_equal(duration(86400 * 2 + 3600 * 4), "2d4h");
}

static void sizes_are_written_in_four_characters(void **state)
{
	(void)state;
	assert_string_equal(size(0), "0");
	assert_string_equal(size(1023), "1023");
	assert_string_equal(size(1024), "1.0K");
	assert_string_equal(size(10 * 1024), "10K");
	assert_string_equal(size(10 * 1024 - 1), "10K");
	assert_string_equal(size(1023 * 1024), "1.0M");
	assert_string_equal(size(512ull << 20), "512M");
	assert_string_equal(size(3ull << 29), "1.5G");
	assert_string_equal(size(UINT64_MAX), "16E");
}

static void spans_count_from_now(void **state)
{
	const char *then = "2026-01-02T03:04:05.000Z";
	const uint64_t at = 1767323045000;

	(void)state;
	assert_int_equal(span_s(then, at + 61999, false), 61);
	assert_int_equal(span_s(then, at - 5000, false), 0);
	assert_int_equal(span_s(then, at - 5000, true), 5);
	assert_int_equal(span_s("soon", at, true), -1);
	assert_int_equal(span_s(NULL, at, true), -1);
}

static void the_clock_can_be_set(void **state)
{
	(void)state;
	assert_int_equal(setenv("ATOLL_NOW_MS", "1234", 1), 0);
	assert_int_equal(now_ms(), 1234);
	assert_int_equal(setenv("ATOLL_NOW_MS", "nonsense", 1), 0);
	assert_true(now_ms() > 1600000000000);
	assert_int_equal(unsetenv("ATOLL_NOW_MS"), 0);
}

static void foreign_text_cannot_steer_a_terminal(void **state)
{
	struct buf b = BUF_INIT(100);

	(void)state;
	put_clean(&b,
	    "a\033[2Jb\x7f\xc2\x9b"
	    "c\n\xc3\xa9");
	assert_string_equal(buf_cstr(&b), "a?[2Jb??c?\xc3\xa9");
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_are_read),
		cmocka_unit_test(other_durations_are_refused),
		cmocka_unit_test(durations_are_written),
		cmocka_unit_test(sizes_are_written_in_four_characters),
		cmocka_unit_test(spans_count_from_now),
		cmocka_unit_test(the_clock_can_be_set),
		cmocka_unit_test(foreign_text_cannot_steer_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
