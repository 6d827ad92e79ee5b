/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/veil and base/secretive: which values are secret, and that none of them is written down. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/secretive.h"
#include "front/record/veil.h"
#include "http/json.h"
#include "unit.h"

static void names_say_it(void **state)
{
	static const char *const secret[] = { "GITHUB_TOKEN", "db_password", "OPENAI_API_KEY", "AWS_ACCESS_KEY_ID",
		"aws_secret_access_key", "Credentials", "SIGNING_KEY", "KEY", "KEY_PASSPHRASE", "APIKEY2" };
	static const char *const plain[] = { "PATH", "MONKEY", "KEYBOARD", "HOME", "DEBUG", "", "TOKE", "_KE" };

	(void)state;
	for (size_t i = 0; i < sizeof secret / sizeof *secret; i++)
		assert_true(secretive_name(secret[i]));
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		assert_false(secretive_name(plain[i]));
}

static void hides(const char *envs, const char *text, bool as_json, const char *want)
{
	autojson json_t *o = json_loads(envs, 0, NULL), *list = NULL;
	autobuf struct buf out = BUF_INIT(4096);

	assert_non_null(o);
	veil_learn(&list, o);
	struct str got = veil(str_of(text), list, as_json, &out);

	assert_int_equal(got.n, strlen(want));
	assert_memory_equal(got.p, want, got.n);
}

static void values_are_taken_out(void **state)
{
	(void)state;
	hides("{\"A_TOKEN\":\"abcdef123\"}", "x=abcdef123;abcdef123", false, "x=" REDACTED ";" REDACTED);
	hides("{\"A_TOKEN\":\"abcdef123\"}", "abcdef12", false, "abcdef12");
	hides("{\"MODE\":\"abcdef123\"}", "abcdef123", false, "abcdef123");
	hides("{\"A_TOKEN\":\"abc\"}", "abcabc", false, "abcabc");
	hides("{\"A_TOKEN\":\"abcdef\",\"B_TOKEN\":\"abcdefghi\"}", "abcdefghi abcdefgh", false,
	    REDACTED " " REDACTED "gh");
	hides("{\"A_TOKEN\":7,\"B_TOKEN\":null}", "abcdefghi", false, "abcdefghi");
	hides("{}", "abcdefghi", true, "abcdefghi");
}

static void in_json_it_may_have_escapes(void **state)
{
	(void)state;
	hides("{\"A_SECRET\":\"say \\\"hi\\\"\\n\"}", "{\"text\":\"say \\\"hi\\\"\\n.\"}", true,
	    "{\"text\":\"" REDACTED ".\"}");
	hides("{\"A_SECRET\":\"gr\xc3\xbc\xc3\x9f"
	      "e!\"}",
	    "[\"gr\\u00FC\\u00DFe!\",\"gr\xc3\xbc\xc3\x9f"
	    "e!\"]",
	    true, "[\"" REDACTED "\",\"" REDACTED "\"]");
}

static void json_stays_json(void **state)
{
	static const char events[] = "{\"type\":\"stdout\",\"text\":\"stdout 123456\",\"timestamp\":71234567}\n"
				     "{\"type\":\"result\",\"json\":{\"a123456\":[123456,true,null,7]}}\n\n{\"type\":"
				     "\"stdout\",\"text\":\"1\"}\n";

	(void)state;
	hides("{\"A_TOKEN\":\"123456\",\"B_TOKEN\":\"stdout\",\"C_TOKEN\":\"\\\",\\\"text\\\":\\\"\"}", events, true,
	    "{\"type\":\"stdout\",\"text\":\"" REDACTED " " REDACTED "\",\"timestamp\":71234567}\n"
	    "{\"type\":\"result\",\"json\":{\"a" REDACTED "\":[\"" REDACTED
	    "\",true,null,7]}}\n\n{\"type\":\"stdout\",\"text\":\"1\"}\n");
	hides("{\"A_TOKEN\":\"abcdef\"}", "{\"text\":\"abcdef", true, "{\"text\":\"" REDACTED);
}

static void of_many_the_last_are_known(void **state)
{
	autojson json_t *o = json_object(), *list = NULL;
	char name[32];

	(void)state;
	for (unsigned i = 0; i < 5000; i++) {
		(void)snprintf(name, sizeof name, "TOKEN_%06u", i);
		(void)json_object_set_new(o, name, json_string(name));
	}
	veil_learn(&list, o);
	assert_int_equal(json_array_size(list), 64);
	assert_string_equal(json_string_value(json_array_get(list, 63)), "TOKEN_004999");
}

static void what_is_learned_is_bounded(void **state)
{
	autojson json_t *o = json_object(), *list = NULL;
	char big[65537];

	(void)state;
	memset(big, 'x', sizeof big - 1);
	big[sizeof big - 1] = '\0';
	(void)json_object_set_new(o, "BIG_TOKEN", json_string(big));
	(void)json_object_set_new(o, "SMALL_TOKEN", json_string("abcdef"));
	veil_learn(&list, o);
	veil_learn(&list, NULL);
	assert_int_equal(json_array_size(list), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_say_it),
		cmocka_unit_test(values_are_taken_out),
		cmocka_unit_test(in_json_it_may_have_escapes),
		cmocka_unit_test(json_stays_json),
		cmocka_unit_test(of_many_the_last_are_known),
		cmocka_unit_test(what_is_learned_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
