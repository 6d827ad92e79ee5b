/* SPDX-License-Identifier: Apache-2.0 */
/* Units of ipc/rules: what is written comes back, and nothing else does. */
#include <stdint.h>

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "ipc/rules.h"
#include "unit.h"

static struct rules *sample(void)
{
	struct rules *r = rules_new();

	r->n = 2;
	(void)str_copy(r->v[0].domain, sizeof r->v[0].domain, STR_LIT("api.a.com"));
	assert_int_equal(rules_add_field(&r->v[0], STR_LIT("Authorization"), STR_LIT("Bearer x"), true), 0);
	assert_int_equal(rules_add_field(&r->v[0], STR_LIT("X-Empty"), STR_LIT(""), false), 0);
	(void)str_copy(r->v[1].domain, sizeof r->v[1].domain, STR_LIT("b.org"));
	r->v[1].broken = true;
	r->socks = (struct rules_socks) { .host = "10.1.2.3",
		.port = 1080,
		.user = "u",
		.password = "p",
		.tls = true,
		.server_name = "proxy.example",
		.ca = str_dup(STR_LIT("-----BEGIN")) };
	return r;
}

static void rules_come_back(void **state)
{
	autobuf struct buf b = BUF_INIT(RULES_MAX), again = BUF_INIT(RULES_MAX);
	struct rules *r = sample(), *got = NULL;

	(void)state;
	rules_encode(r, &b);
	assert_int_equal(rules_decode(b.p, b.n, &got), 0);
	assert_int_equal(got->n, 2);
	assert_string_equal(got->v[0].fields[0].value, "Bearer x");
	assert_true(got->v[0].fields[0].secret);
	assert_string_equal(got->v[0].fields[1].value, "");
	assert_true(got->v[1].broken);
	assert_string_equal(got->socks.password, "p");
	rules_encode(got, &again);
	assert_int_equal(again.n, b.n);
	assert_memory_equal(again.p, b.p, b.n);
	rules_free(r);
	rules_free(got);
	for (size_t i = 0; i < b.n; i++)
		assert_int_equal(rules_decode(b.p, i, &got), -EBADMSG);
	buf_ch(&b, 'x');
	assert_int_equal(rules_decode(b.p, b.n, &got), -EBADMSG);
}

static void the_nearest_rule_counts(void **state)
{
	static const char *const domains[] = { "*.example.com", "*.a.example.com", "x.a.example.com" };
	struct rules *r = rules_new();

	(void)state;
	assert_non_null(r);
	for (r->n = 0; r->n < 3; r->n++)
		(void)str_copy(r->v[r->n].domain, sizeof r->v[0].domain, str_of(domains[r->n]));
	assert_ptr_equal(rules_for(r, "x.a.example.com"), &r->v[2]);
	assert_ptr_equal(rules_for(r, "y.a.example.com"), &r->v[1]);
	assert_ptr_equal(rules_for(r, "y.x.a.example.com"), &r->v[1]);
	assert_ptr_equal(rules_for(r, "a.example.com"), &r->v[0]);
	assert_null(rules_for(r, "example.com"));
	assert_null(rules_for(r, "badexample.com"));
	rules_free(r);
}

static void fields_that_frame_a_message_cannot_be_set(void **state)
{
	static const char *const bad[] = { "", "Host", "content-length", "Transfer-Encoding", "CONNECTION", "upgrade",
		"a b", "a:", "a\r\n", "\xc3\xbc", "Expect", "TE" };
	static const char *const good[] = { "Authorization", "x-api-key", "X_Y.z~1", "Cookie" };
	char longest[RULES_NAME_MAX + 1];

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(rules_field_name_ok(str_of(bad[i])));
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		assert_true(rules_field_name_ok(str_of(good[i])));
	memset(longest, 'a', sizeof longest);
	assert_true(rules_field_name_ok((struct str) { longest, RULES_NAME_MAX }));
	assert_false(rules_field_name_ok((struct str) { longest, RULES_NAME_MAX + 1 }));
	assert_true(rules_field_value_ok(STR_LIT("a \t\xc3\xbc")));
	assert_false(rules_field_value_ok(STR_LIT("a\nb")));
	assert_false(rules_field_value_ok(STR_LIT("a\0b")));
}

static void what_makes_no_sense_is_refused(void **state)
{
	static const struct str bad[] = {
		STR_LIT(""),
		STR_LIT("\0"),
		STR_LIT("\2\0"),
		STR_LIT("\0\13"),
		STR_LIT("\0\1\1*\0\0"),
		STR_LIT("\0\1\3a b\0\0"),
		STR_LIT("\0\1\1a\2\0"),
		STR_LIT("\0\1\1a\0\1\0\4Host\1\0x"),
		STR_LIT("\0\1\1a\0\1\0\1x\1\0\n"),
		STR_LIT("\0\1\1a\0\1\2\1x\1\0y"),
		STR_LIT("\1\0\1a\0\0\0\0"),
		STR_LIT("\1\0\1a\1\0\0\1p"),
		STR_LIT("\1\0\0\1\0\0\0"),
		STR_LIT("\1\0\012"
			"1.2.3.4/24\1\0\0\0"),
	};
	struct rules *got;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(rules_decode(bad[i].p, bad[i].n, &got), -EBADMSG);
	assert_int_equal(rules_decode("\0\0", 2, &got), 0);
	rules_free(got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_come_back),
		cmocka_unit_test(the_nearest_rule_counts),
		cmocka_unit_test(fields_that_frame_a_message_cannot_be_set),
		cmocka_unit_test(what_makes_no_sense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
