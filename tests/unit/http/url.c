/* SPDX-License-Identifier: Apache-2.0 */
/* Units of http/url: decoding, queries, encoding. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http/url.h"
#include "unit.h"

static void decoded_is(const char *in, bool plus, const char *want)
{
	autobuf struct buf b = BUF_INIT(1000);

	assert_int_equal(url_decode(str_of(in), plus, &b), 0);
	assert_true(str_is(buf_view(&b), want));
}

static void decoding_undoes_escapes(void **state)
{
	(void)state;
	decoded_is("a%20b%2Fc", false, "a b/c");
	decoded_is("a+b", false, "a+b");
	decoded_is("a+b%2B", true, "a b+");
	decoded_is("%c3%A4", false, "\xc3\xa4");
	decoded_is("", false, "");
}

static void bad_escapes_are_refused(void **state)
{
	static const char *const bad[] = { "%", "%2", "a%2", "%zz", "%2g", "%%20", "% 20" };
	autobuf struct buf b = BUF_INIT(1000);

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(url_decode(str_of(bad[i]), false, &b), -EINVAL);
	assert_int_equal(url_decode(STR_LIT("a%00b"), false, &b), -EILSEQ);
	assert_int_equal(url_decode(STR_LIT("a\0b"), false, &b), -EILSEQ);
}

static void query_gives_the_first_of_a_name(void **state)
{
	struct str q = STR_LIT("a=1&path=%2Ftmp%2Fx+y&a=2&empty=&flag&p%61th2=z");
	char *v = NULL;

	(void)state;
	assert_int_equal(query_get(q, "a", &v), 0);
	assert_string_equal(v, "1");
	free(v);
	assert_int_equal(query_get(q, "path", &v), 0);
	assert_string_equal(v, "/tmp/x y");
	free(v);
	assert_int_equal(query_get(q, "empty", &v), 0);
	assert_string_equal(v, "");
	free(v);
	assert_int_equal(query_get(q, "flag", &v), 0);
	assert_string_equal(v, "");
	free(v);
	assert_int_equal(query_get(q, "path2", &v), 0);
	assert_string_equal(v, "z");
	free(v);
	v = NULL;
	assert_int_equal(query_get(q, "b", &v), -ENOENT);
	assert_int_equal(query_get(STR_LIT(""), "b", &v), -ENOENT);
	assert_int_equal(query_get(STR_NULL, "b", &v), -ENOENT);
	assert_int_equal(query_get(STR_LIT("b=%00"), "b", &v), -EILSEQ);
	assert_int_equal(query_get(STR_LIT("b=%x"), "b", &v), -EINVAL);
	assert_int_equal(query_get(STR_LIT("b%zz=1&b=2"), "b", &v), 0);
	assert_string_equal(v, "2");
	free(v);
}

static void query_walk_skips_nothing_but_the_empty(void **state)
{
	struct str q = STR_LIT("&&a=b=c&d&&=x&"), name, value;

	(void)state;
	assert_true(query_next(&q, &name, &value));
	assert_true(str_is(name, "a") && str_is(value, "b=c"));
	assert_true(query_next(&q, &name, &value));
	assert_true(str_is(name, "d") && str_is(value, ""));
	assert_true(query_next(&q, &name, &value));
	assert_true(str_is(name, "") && str_is(value, "x"));
	assert_false(query_next(&q, &name, &value));
}

static void encoding_and_decoding_are_inverse(void **state)
{
	autobuf struct buf enc = BUF_INIT(1000), dec = BUF_INIT(1000);
	char all[255];

	(void)state;
	for (size_t i = 0; i < sizeof all; i++)
		all[i] = (char)(i + 1);
	url_encode(&enc, (struct str) { all, sizeof all });
	assert_null(memchr(enc.p, '+', enc.n));
	assert_int_equal(url_decode(buf_view(&enc), true, &dec), 0);
	assert_true(str_eq(buf_view(&dec), (struct str) { all, sizeof all }));
	buf_clear(&enc);
	url_encode(&enc, STR_LIT("aZ0-._~ /%"));
	assert_true(str_is(buf_view(&enc), "aZ0-._~%20%2F%25"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decoding_undoes_escapes),
		cmocka_unit_test(bad_escapes_are_refused),
		cmocka_unit_test(query_gives_the_first_of_a_name),
		cmocka_unit_test(query_walk_skips_nothing_but_the_empty),
		cmocka_unit_test(encoding_and_decoding_are_inverse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
