/* SPDX-License-Identifier: Apache-2.0 */
/* Units of mcp/schema: an argument that is wrong is named, with what it must be. */
#include <stdint.h>

#include <string.h>

#include "http/json.h"
#include "mcp/schema.h"
#include "unit.h"

static void expect(const char *schema, const char *value, const char *text)
{
	autojson json_t *s = json_loads(schema, 0, NULL),
			*v = json_loads(value, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	struct err e = ERR_INIT;

	assert_non_null(s);
	assert_non_null(v);
	assert_int_equal(schema_check(s, v, &e), text ? -EINVAL : 0);
	if (text)
		assert_string_equal(e.text, text);
}

#define TOOL \
	"{\"type\":\"object\",\"properties\":{\"code\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":4}," \
	"\"language\":{\"type\":\"string\"," \
	"\"enum\":[\"python\",\"bash\"]},\"n\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":9},\"envs\":{\"type\":" \
	"\"object\"," \
	"\"additionalProperties\":{\"type\":\"string\"}},\"list\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":2," \
	"\"items\":{\"type\":\"string\"}}," \
	"\"either\":{\"type\":[\"string\",\"number\"]}},\"required\":[\"code\"],\"additionalProperties\":false}"

static void what_is_wrong_is_named(void **state)
{
	(void)state;
	expect(TOOL,
	    "{\"code\":\"a\",\"language\":\"bash\",\"n\":9,\"envs\":{\"A\":\"b\"},\"list\":[\"x\"],\"either\":3}",
	    NULL);
	expect(TOOL, "{}", "argument 'code' is missing");
	expect(TOOL, "{\"code\":1}", "argument 'code' must be a string");
	expect(TOOL, "{\"code\":null}", "argument 'code' must be a string");
	expect(TOOL, "{\"code\":\"\"}", "argument 'code' must not be empty");
	expect(TOOL, "{\"code\":\"12345\"}", "argument 'code' is too long: at most 4 bytes");
	expect(TOOL, "{\"code\":\"a\",\"language\":\"cobol\"}", "argument 'language' must be one of: python, bash");
	expect(TOOL, "{\"code\":\"a\",\"n\":0}", "argument 'n' must be from 1 to 9");
	expect(TOOL, "{\"code\":\"a\",\"n\":2.0}", NULL);
	expect(TOOL, "{\"code\":\"a\",\"n\":1.5}", "argument 'n' must be an integer");
	expect(TOOL, "{\"code\":\"a\",\"n\":1e300}", "argument 'n' must be an integer");
	expect(TOOL, "{\"code\":\"a\",\"n\":1e12}", "argument 'n' must be from 1 to 9");
	expect(TOOL, "{\"code\":\"a\",\"envs\":{\"A\":1}}", "argument 'envs.A' must be a string");
	expect(TOOL, "{\"code\":\"a\",\"list\":[]}", "argument 'list' must not be empty");
	expect(TOOL, "{\"code\":\"a\",\"list\":[\"a\",2]}", "argument 'list[1]' must be a string");
	expect(TOOL, "{\"code\":\"a\",\"list\":[\"a\",\"b\",\"c\"]}", "argument 'list' is too long: at most 2 items");
	expect(TOOL, "{\"code\":\"a\",\"either\":true}", "argument 'either' must be a string or a number");
	expect(TOOL, "{\"code\":\"a\",\"other\":1}", "argument 'other' is unknown");
	expect(TOOL, "{\"code\":\"a\\u0000\"}", "argument 'code' must not contain a NUL character");
	expect(TOOL, "[]", "argument '' must be an object");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_wrong_is_named) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
