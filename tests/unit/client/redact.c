/* SPDX-License-Identifier: Apache-2.0 */
/* Units of client/redact: secrets go, all else stays as it is. */
#include <stdint.h>

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "client/agent/redact.h"
#include "client/atoll.h"
#include "http/json.h"
#include "unit.h"

static const char *const listed[] = { "hunter2-hunter2", "abc", NULL };

static void expect(const char *in, const char *out)
{
	autojson json_t *s = redact_string(json_string(in), listed);

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
	static const char *const same[] = { "", "sk-learn", "task-1", "https://host/a@b", "mailto:me@example.com",
		"git@host:x", "e2b_", "eyJ", "http://localhost:8080/a?b=c", "x ghp_ y", "\xc3\xa4\xe2\x82\xac" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(same); i++)
		expect(same[i], same[i]);
}

static void images_are_left_alone(void **state)
{
	autojson json_t *j = json_pack("{s:[{s:s,s:s}],s:{s:s}}", "content", "data",
	    "ghp_0123456789012345678901234567890123456789", "mimeType", "image/png", "b", "data",
	    "ghp_0123456789012345678901234567890123456789");

	(void)state;
	redact_json(j, NULL);
	assert_string_equal(
	    json_string_value(json_object_get(json_array_get(json_object_get(j, "content"), 0), "data")),
	    "ghp_0123456789012345678901234567890123456789");
	assert_string_equal(json_string_value(json_object_get(json_object_get(j, "b"), "data")), REDACTED);
}

static void secret_variables_are_found_by_their_names(void **state)
{
	char env[] =
	    "PATH=/usr/bin:/bin\0GITHUB_TOKEN=0123456789\0A=b\0my_password=longenough\0API_KEY=short\0NOVALUE\0";
	const char *found[8];
	size_t n = redact_env(env, sizeof env - 1, found, ARRAY_LEN(found));

	(void)state;
	assert_int_equal(n, 2);
	assert_string_equal(found[0], "0123456789");
	assert_string_equal(found[1], "longenough");
}

static int collect(void *user, const char *text, size_t n)
{
	buf_put(user, text, n);
	return 0;
}

/* However it comes in pieces, what goes out is what atoll_redact() makes of the whole. */
static void a_stream_is_as_its_whole(void **state)
{
	static const char text[] =
	    "first ghp_0123456789012345678901234567890123456789 then two words!\nhttps://me:pa55word@host/x -----BEGIN "
	    "EC PRIVATE KEY-----\nMHcCAQEE x\n"
	    "-----END EC PRIVATE KEY-----and-on hunter2-hunter2 hunter2-hunter -----BEGIN CERTIFICATE----- two word";
	char a[] = "hunter2-hunter2", b[] = "two words";
	const struct secrets known = { .v = { a, b }, .n = 2 };
	autofree char *want = atoll_redact(text, (const char *const *)known.v, known.n);

	(void)state;
	assert_null(strstr(want, "pa55word"));
	assert_null(strstr(want, "two words"));
	assert_null(strstr(want, "MHcC"));
	for (size_t i = 0; i < sizeof text - 1; i++) {
		for (size_t step = 1; step <= sizeof text; step = step * 3 + 1) {
			struct redact_stream st = { .held = { 0 } };
			autobuf struct buf got = BUF_INIT(4096);

			assert_int_equal(redact_stream_feed(&st, (struct str) { text, i }, &known, collect, &got), 0);
			for (size_t at = i; at < sizeof text - 1; at += step) {
				size_t n = sizeof text - 1 - at;

				assert_int_equal(redact_stream_feed(&st,
						     (struct str) { text + at, n < step ? n : step }, &known, collect,
						     &got),
				    0);
			}
			assert_int_equal(redact_stream_end(&st, &known, collect, &got), 0);
			redact_stream_done(&st);
			assert_string_equal(buf_cstr(&got), want);
		}
	}
}

static int refuse(void *user, const char *text, size_t n)
{
	(void)text;
	*(size_t *)user += n;
	return 7;
}

static void a_stream_holds_back_no_more_than_it_must(void **state)
{
	const struct secrets none = { .n = 0 };
	struct redact_stream st = { .held = { 0 } };
	autobuf struct buf got = BUF_INIT(1 << 20);
	size_t seen = 0;

	(void)state;
	assert_int_equal(redact_stream_feed(&st, STR_LIT("a line\nand a nul\0 x"), &none, collect, &got), 0);
	assert_true(str_eq(buf_view(&got), STR_LIT("a line\nand a nul\0 ")));
	for (int i = 0; i < 70; i++) {
		char word[1000];

		memset(word, '0' + i % 10, sizeof word);
		assert_int_equal(redact_stream_feed(&st, (struct str) { word, sizeof word }, &none, collect, &got), 0);
	}
	assert_true(got.n > 60000); /* a word of that length is none */
	assert_int_equal(redact_stream_feed(&st, STR_LIT(" "), &none, refuse, &seen), 7);
	assert_true(seen > 0);
	redact_stream_done(&st);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens_are_taken_out),
		cmocka_unit_test(what_is_none_stays),
		cmocka_unit_test(images_are_left_alone),
		cmocka_unit_test(secret_variables_are_found_by_their_names),
		cmocka_unit_test(a_stream_is_as_its_whole),
		cmocka_unit_test(a_stream_holds_back_no_more_than_it_must),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
