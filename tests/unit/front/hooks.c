/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/hooks: how a delivery is signed, and when it is tried again. */
#include "front/hooks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_signature_is_that_of_e2b(void **state)
{
	char got[HOOK_SIGNATURE_SIZE];

	(void)state;
	/* printf 'abc' | openssl dgst -sha256 -binary | basenc --base64url | tr -d = */
	hook_sign(STR_LIT("a"), STR_LIT("bc"), got);
	assert_string_equal(got, "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0");
	hook_sign(STR_LIT(""), STR_LIT(""), got);
	assert_string_equal(got, "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
}

static void each_failure_waits_longer_up_to_an_hour(void **state)
{
	(void)state;
	assert_int_equal(hook_backoff_ms(1000, 1, 0), 1000);
	assert_int_equal(hook_backoff_ms(1000, 2, 0), 4000);
	assert_int_equal(hook_backoff_ms(1000, 6, 0), 1024000);
	assert_int_equal(hook_backoff_ms(1000, 7, 0), 3600000);
	assert_int_equal(hook_backoff_ms(1000, 4000000000u, 0), 3600000);
	for (uint32_t chance = 0; chance < 5000; chance++) {
		uint64_t ms = hook_backoff_ms(1000, 2, chance);

		assert_true(ms >= 2000 && ms <= 4000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_signature_is_that_of_e2b), cmocka_unit_test(each_failure_waits_longer_up_to_an_hour) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
