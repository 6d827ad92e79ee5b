/* SPDX-License-Identifier: Apache-2.0 */
/* Units of mcp/redact: secrets go, all else stays as it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "http/json.h"
#include "mcp/redact.h"

static const char *const known[] = { "hunter2-hunter2", "abc", NULL };

static void expect(const char *in, const char *out)
{
	autojson json_t *s = redact_string(json_string(in), known);

	assert_string_equal(json_string_value(s), out);
}

static void tokens_are_taken_out(void **state)
{
	(void)state;
	expect("it is hunter2-hunter2!", "it is " REDACTED "!");
	expect("abc is too short to be one", "abc is too short to be one");
	expect("ghp_0123456789012345678901234567890123456789 x", REDACTED " x");
	expect("key=e2b_0123456789012345678901234567890123456789", "key=" REDACTED);
	expect("https://user:pass@host/x", "https://user:" REDACTED "@host/x");
	expect("AKIA0123456789ABCDEF", REDACTED);
}

static void what_is_none_stays(void **state)
{
	static const char *const same[] = { "", "sk-learn", "task-1", "https://host/a@b", "mailto:me@example.com", "git@host:x", "e2b_", "eyJ",
		"http://localhost:8080/a?b=c", "x ghp_ y", "\xc3\xa4\xe2\x82\xac" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(same); i++)
		expect(same[i], same[i]);
}

static void images_are_left_alone(void **state)
{
	autojson json_t *j = json_pack("{s:[{s:s,s:s}],s:{s:s}}", "content", "data", "ghp_0123456789012345678901234567890123456789", "mimeType", "image/png",
		"b", "data", "ghp_0123456789012345678901234567890123456789");

	(void)state;
	redact_json(j, NULL);
	assert_string_equal(json_string_value(json_object_get(json_array_get(json_object_get(j, "content"), 0), "data")), "ghp_0123456789012345678901234567890123456789");
	assert_string_equal(json_string_value(json_object_get(json_object_get(j, "b"), "data")), REDACTED);
}

static void secret_variables_are_found_by_their_names(void **state)
{
	char env[] = "PATH=/usr/bin:/bin\0GITHUB_TOKEN=0123456789\0A=b\0my_password=longenough\0API_KEY=short\0NOVALUE\0";
	const char *found[8];
	size_t n = redact_env(env, sizeof env - 1, found, ARRAY_LEN(found));

	(void)state;
	assert_int_equal(n, 2);
	assert_string_equal(found[0], "0123456789");
	assert_string_equal(found[1], "longenough");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens_are_taken_out),
		cmocka_unit_test(what_is_none_stays),
		cmocka_unit_test(images_are_left_alone),
		cmocka_unit_test(secret_variables_are_found_by_their_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
