/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/token: signatures of file URLs, comparing secrets. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "front/util/token.h"
#include "unit.h"

static void signature_is_that_of_the_clients(void **state)
{
	char sig[SIGNATURE_SIZE];

	(void)state;
	signature_make(STR_LIT("hello.txt"), "read", STR_LIT("user"), STR_LIT("0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0"),
	    STR_NULL, sig);
	assert_string_equal(sig, "v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E");
}

static void every_part_of_a_signature_counts(void **state)
{
	char a[SIGNATURE_SIZE], b[SIGNATURE_SIZE];

	(void)state;
	signature_make(STR_LIT("p"), "read", STR_LIT("u"), STR_LIT("t"), STR_NULL, a);
	signature_make(STR_LIT("q"), "read", STR_LIT("u"), STR_LIT("t"), STR_NULL, b);
	assert_string_not_equal(a, b);
	signature_make(STR_LIT("p"), "write", STR_LIT("u"), STR_LIT("t"), STR_NULL, b);
	assert_string_not_equal(a, b);
	signature_make(STR_LIT("p"), "read", STR_NULL, STR_LIT("t"), STR_NULL, b);
	assert_string_not_equal(a, b);
	signature_make(STR_LIT("p"), "read", STR_LIT("u"), STR_LIT("s"), STR_NULL, b);
	assert_string_not_equal(a, b);
	signature_make(STR_LIT("p"), "read", STR_LIT("u"), STR_LIT("t"), STR_LIT("1"), b);
	assert_string_not_equal(a, b);
}

static void secrets_compare_whole(void **state)
{
	(void)state;
	assert_true(secret_eq(STR_LIT("abc"), STR_LIT("abc")));
	assert_false(secret_eq(STR_LIT("abc"), STR_LIT("abd")));
	assert_false(secret_eq(STR_LIT("abc"), STR_LIT("ab")));
	assert_false(secret_eq(STR_NULL, STR_LIT("ab")));
}

static void tokens_differ(void **state)
{
	char a[TOKEN_SIZE], b[TOKEN_SIZE];

	(void)state;
	token_make(a);
	token_make(b);
	assert_int_equal(strlen(a), TOKEN_SIZE - 1);
	assert_string_not_equal(a, b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signature_is_that_of_the_clients),
		cmocka_unit_test(every_part_of_a_signature_counts),
		cmocka_unit_test(secrets_compare_whole),
		cmocka_unit_test(tokens_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
