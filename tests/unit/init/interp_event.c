/* SPDX-License-Identifier: Apache-2.0 */
/* Units of init/interp_event: results as clients know them, and where output may be cut. */
#include <stdint.h>
#include <stdlib.h>

#include "base/fd.h"
#include "http/json.h"
#include "init/interp/event.h"
#include "unit.h"

static void check_result(const char *bundle, bool is_main, const char *want)
{
	autojson json_t *b = json_loads(bundle, 0, NULL), *w = json_loads(want, 0, NULL);
	autojson json_t *got = event_result(b, is_main);

	assert_true(json_equal(got, w));
}

static void a_bundle_becomes_fields(void **state)
{
	(void)state;
	check_result("{\"text/plain\":\"1\"}", true,
	    "{\"type\":\"result\",\"is_main_result\":true,\"text\":\"1\",\"extra\":{}}");
	check_result("{\"image/png\":\"AA\",\"e2b/chart\":{\"x_unit\":null},\"application/json\":[1]}", false,
	    "{\"type\":\"result\",\"is_main_result\":false,\"png\":\"AA\",\"chart\":{\"x_unit\":null},\"json\":[1],"
	    "\"extra\":{}}");
	check_result("{\"text/x-own\":\"o\",\"text/html\":null}", false,
	    "{\"type\":\"result\",\"is_main_result\":false,\"extra\":{\"text/x-own\":\"o\"}}");
}

static void check_text(const char *plain, const char *want)
{
	autojson json_t *b = json_pack("{s:s}", "text/plain", plain);
	autojson json_t *got = event_result(b, true);

	assert_string_equal(json_string_value(json_object_get(got, "text")), want);
}

static void printed_text_stays_as_it_is(void **state)
{
	autojson json_t *got = event_text(STR_LIT("'a'\n"));
	autojson json_t *want = json_pack("{s:s,s:b,s:s,s:{}}", "type", "result", "is_main_result", 1, "text", "'a'\n",
	    "extra");

	(void)state;
	assert_true(json_equal(got, want));
}

static void one_pair_of_quotes_is_taken_off(void **state)
{
	(void)state;
	check_text("'str'", "str");
	check_text("\"it's\"", "it's");
	check_text("''x''", "'x'");
	check_text("'", "'");
	check_text("''", "");
	check_text("'open", "'open");
	check_text("'mixed\"", "'mixed\"");
}

static void output_is_cut_between_lines_and_characters(void **state)
{
	(void)state;
	assert_int_equal(output_ready(STR_LIT("ab\ncd"), true), 3);
	assert_int_equal(output_ready(STR_LIT("ab\ncd"), false), 5);
	assert_int_equal(output_ready(STR_LIT("abcd"), true), 4);
	assert_int_equal(output_ready(STR_NULL, true), 0);
	assert_int_equal(output_ready(STR_LIT("a\xc3"), false), 1);
	assert_int_equal(output_ready(STR_LIT("a\xc3\xa9"), false), 3);
	assert_int_equal(output_ready(STR_LIT("\xf0\x9f\x98"), false), 0);
	assert_int_equal(output_ready(STR_LIT("\xf0\x9f\x98\x80"), false), 4);
	assert_int_equal(output_ready(STR_LIT("\xe6\xbc"), false), 0);
}

static void bytes_that_begin_no_character_are_not_waited_for(void **state)
{
	(void)state;
	assert_int_equal(output_ready(STR_LIT("a\xff"), false), 2);
	assert_int_equal(output_ready(STR_LIT("a\x80\x80\x80\x80"), false), 5);
	assert_int_equal(output_ready(STR_LIT("\xc0"), false), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bundle_becomes_fields),
		cmocka_unit_test(one_pair_of_quotes_is_taken_off),
		cmocka_unit_test(printed_text_stays_as_it_is),
		cmocka_unit_test(output_is_cut_between_lines_and_characters),
		cmocka_unit_test(bytes_that_begin_no_character_are_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
