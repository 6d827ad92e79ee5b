/* SPDX-License-Identifier: Apache-2.0 */
/* Units of mcp/fit: what is too large becomes small enough, stays what it was otherwise, and says so. */
#include <stdint.h>

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "http/json.h"
#include "mcp/fit.h"
#include "unit.h"

#define MAX 100000

static json_t *text_of(const char *one, size_t n)
{
	size_t len = strlen(one);
	char *z = malloc(n * len + 1);

	assert_non_null(z);
	for (size_t i = 0; i < n; i++)
		memcpy(z + i * len, one, len);
	json_t *s = json_stringn(z, n * len);

	free(z);
	return s;
}

static size_t written(const json_t *j)
{
	return json_dumpb(j, NULL, 0, JSON_COMPACT | JSON_ENSURE_ASCII);
}

static void what_fits_is_left_alone(void **state)
{
	autojson json_t *r = json_pack("{s:[{s:s,s:s}],s:b,s:{s:o,s:b}}", "content", "type", "text", "text", "short",
	    "isError", 0, "structuredContent", "stdout", text_of("x", MAX / 2), "truncated", 0);
	autojson json_t *copy = json_deep_copy(r);

	(void)state;
	assert_false(mcp_fit(r, MAX));
	assert_true(json_equal(r, copy));
}

/* One byte of it may be six when it is written. */
static void long_texts_are_cut_between_characters(void **state)
{
	static const char *const kinds[] = { "x", "\x01", "\xc3\xa9", "\xf0\x9f\x98\x80" };

	(void)state;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		autojson json_t *r = json_pack("{s:[{s:s,s:o},{s:s,s:s}],s:b,s:{s:o,s:s,s:b,s:{s:[o]}}}", "content",
		    "type", "text", "text", text_of(kinds[i], 900001), "type", "text", "text", "kept", "isError", 0,
		    "structuredContent", "stdout", text_of(kinds[i], 900001), "stderr", "kept", "truncated", 0, "logs",
		    "stdout", text_of(kinds[i], 30000));
		const json_t *data = json_object_get(r, "structuredContent"), *content = json_object_get(r, "content");

		assert_true(mcp_fit(r, MAX));
		assert_true(written(r) <= MAX && written(r) > MAX / 16);
		assert_non_null(strstr(json_string_value(json_object_get(data, "stdout")), "bytes omitted]"));
		assert_string_equal(json_string_value(json_object_get(data, "stderr")), "kept");
		assert_string_equal(json_string_value(json_object_get(json_array_get(content, 1), "text")), "kept");
		assert_true(json_is_true(json_object_get(data, "truncated")));
		assert_true(json_is_false(json_object_get(r, "isError")));
		assert_non_null(strstr(json_string_value(json_object_get(json_array_get(content, 2), "text")),
		    "has been truncated"));
	}
}

static void half_an_image_is_none(void **state)
{
	autojson json_t *r = json_pack("{s:[{s:s,s:o,s:s},{s:s,s:s,s:s},{s:s,s:{s:s,s:o}}],s:b}", "content", "type",
	    "image", "data", text_of("A", 4 * MAX), "mimeType", "image/png", "type", "image", "data", "AAAA",
	    "mimeType", "image/png", "type", "resource", "resource", "uri", "file:///x", "blob", text_of("A", 4 * MAX),
	    "isError", 0);
	json_t *content = json_object_get(r, "content");

	(void)state;
	assert_true(mcp_fit(r, MAX));
	assert_true(written(r) <= MAX);
	assert_string_equal(json_string_value(json_object_get(json_array_get(content, 0), "text")),
	    "[image of 400000 base64 bytes omitted]");
	assert_string_equal(json_string_value(json_object_get(json_array_get(content, 1), "data")), "AAAA");
	assert_string_equal(json_string_value(json_object_get(json_array_get(content, 2), "text")),
	    "[file of 400000 base64 bytes omitted]");
}

static void very_many_short_ones_are_an_error(void **state)
{
	autojson json_t *all = json_array();

	(void)state;
	for (int i = 0; i < MAX; i++)
		(void)json_array_append_new(all, json_string("short"));
	autojson json_t *r = json_pack("{s:[],s:b,s:{s:O}}", "content", "isError", 0, "structuredContent", "results",
	    all);

	assert_true(mcp_fit(r, MAX));
	assert_true(written(r) <= MAX);
	assert_true(json_is_true(json_object_get(r, "isError")));
	assert_null(json_object_get(r, "structuredContent"));
	assert_int_equal(
	    strncmp(json_string_value(json_object_get(json_array_get(json_object_get(r, "content"), 0), "text")),
		"TOO_LARGE: ", 11),
	    0);
	autojson json_t *none = json_object();

	assert_false(mcp_fit(none, 1));
	assert_false(mcp_fit(NULL, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(what_fits_is_left_alone),
		cmocka_unit_test(long_texts_are_cut_between_characters), cmocka_unit_test(half_an_image_is_none),
		cmocka_unit_test(very_many_short_ones_are_an_error) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
