/* SPDX-License-Identifier: Apache-2.0 */
/* Units of http/json: what is refused, and with which words. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http/json.h"
#include "unit.h"

static void bodies_must_be_one_object(void **state)
{
	static const char *const bad[] = { "", "{", "[]", "1", "null", "{} x", "{\"a\":1,\"a\":2}", "{'a':1}",
		"{\"a\":\"\\u0000\"}", "{\"a\":\"\xff\"}", "{\"a\":01}", "{\"a\":99999999999999999999}",
		"{\"a\":NaN}" };
	json_t *j = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct err e = ERR_INIT;

		assert_int_equal(json_read_object(str_of(bad[i]), false, &j, &e), -EINVAL);
		assert_true(str_starts(str_of(e.text), "request body "));
	}
	struct err e = ERR_INIT;
	assert_int_equal(json_read_object(STR_LIT("{\"a\":\0}"), false, &j, &e), -EINVAL);
	assert_int_equal(json_read_object(STR_NULL, true, &j, &e), 0);
	assert_int_equal(json_object_size(j), 0);
	json_decref(j);
}

static void depth_is_bounded(void **state)
{
	autobuf struct buf b = BUF_INIT(100000);
	struct err e = ERR_INIT;
	json_t *j = NULL;

	(void)state;
	buf_z(&b, "{\"a\":");
	for (int i = 0; i < 10000; i++)
		buf_ch(&b, '[');
	assert_int_equal(json_read_object(buf_view(&b), false, &j, &e), -EINVAL);
	assert_string_equal(e.text, "request body is nested too deeply");
	buf_clear(&b);
	buf_z(&b, "{\"a\":\""); /* brackets in a string are text */
	for (int i = 0; i < 1000; i++)
		buf_z(&b, "[{\\\"");
	buf_z(&b, "\"}");
	assert_int_equal(json_read_object(buf_view(&b), false, &j, &e), 0);
	json_decref(j);
}

static void values_are_bounded(void **state)
{
	autobuf struct buf b = BUF_INIT(4 * 1024 * 1024);
	struct err e = ERR_INIT;
	json_t *j = NULL;

	(void)state;
	buf_z(&b, "{\"a\":[{}");
	for (int i = 0; i < 200000; i++)
		buf_z(&b, ",{}");
	buf_z(&b, "]}");
	assert_int_equal(json_read_object(buf_view(&b), false, &j, &e), -EINVAL);
	assert_string_equal(e.text, "request body has too many values");
	buf_clear(&b);
	buf_z(&b, "{\"a\":\""); /* those in a string are text */
	for (int i = 0; i < 300000; i++)
		buf_z(&b, "{},");
	buf_z(&b, "\"}");
	assert_int_equal(json_read_object(buf_view(&b), false, &j, &e), 0);
	json_decref(j);
}

static void fields_are_typed_and_named(void **state)
{
	struct err e = ERR_INIT;
	autojson json_t *o = NULL;
	const char *s = "was";
	bool b = true;
	int64_t i = 7;
	json_t *sub = NULL;

	(void)state;
	assert_int_equal(
	    json_read_object(STR_LIT("{\"s\":\"x\",\"n\":null,\"i\":5,\"t\":\"12\",\"r\":3.0,\"f\":2.5,\"b\":false,"
				     "\"o\":{\"k\":1},\"a\":[],\"m\":{\"k\":\"v\"}}"),
		false, &o, &e),
	    0);
	assert_int_equal(json_get_str(o, "s", &s, &e), 0);
	assert_string_equal(s, "x");
	assert_int_equal(json_get_str(o, "n", &s, &e), 0);
	assert_string_equal(s, "x"); /* null: as it was */
	assert_int_equal(json_get_str(o, "i", &s, &e), -EINVAL);
	assert_string_equal(e.text, "field 'i' must be a string");
	assert_int_equal(json_need_str(o, "n", &s, &e), -EINVAL);
	assert_string_equal(e.text, "field 'n' is missing");
	assert_int_equal(json_get_bool(o, "b", &b, &e), 0);
	assert_false(b);
	assert_int_equal(json_get_bool(o, "i", &b, &e), -EINVAL);
	assert_int_equal(json_get_int(o, "i", 0, 10, &i, &e), 0);
	assert_int_equal(i, 5);
	assert_int_equal(json_get_int(o, "t", 0, 20, &i, &e), 0);
	assert_int_equal(i, 12);
	assert_int_equal(json_get_int(o, "r", 0, 20, &i, &e), 0);
	assert_int_equal(i, 3);
	assert_int_equal(json_get_int(o, "f", 0, 20, &i, &e), -EINVAL);
	assert_int_equal(json_get_int(o, "s", 0, 20, &i, &e), -EINVAL);
	assert_int_equal(json_get_int(o, "i", 6, 86400, &i, &e), -EINVAL);
	assert_string_equal(e.text, "field 'i' must be an integer from 6 to 86400");
	assert_int_equal(i, 3);
	assert_int_equal(json_get_obj(o, "o", &sub, &e), 0);
	assert_int_equal(json_check_str_map(sub, "o", &e), -EINVAL);
	assert_string_equal(e.text, "field 'o.k' must be a string");
	assert_int_equal(json_get_obj(o, "m", &sub, &e), 0);
	assert_int_equal(json_check_str_map(sub, "m", &e), 0);
	assert_int_equal(json_get_arr(o, "a", &sub, &e), 0);
	assert_int_equal(json_get_arr(o, "m", &sub, &e), -EINVAL);
	assert_int_equal(json_get_obj(o, "a", &sub, &e), -EINVAL);
}

static void writing_is_compact_ascii(void **state)
{
	autobuf struct buf b = BUF_INIT(100);
	autojson json_t *o = json_pack("{s:s,s:[i,b]}", "a", "\xc3\xa4\n", "l", 1, 1);

	(void)state;
	json_put(&b, o);
	assert_true(str_is(buf_view(&b), "{\"a\":\"\\u00E4\\n\",\"l\":[1,true]}"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bodies_must_be_one_object),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(values_are_bounded),
		cmocka_unit_test(fields_are_typed_and_named),
		cmocka_unit_test(writing_is_compact_ascii),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
