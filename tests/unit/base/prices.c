/* SPDX-License-Identifier: Apache-2.0 */
/* Units of base/prices: what is taken, and what is not. */
#include "base/prices.h"
#include "unit.h"

#include <stdint.h>

static void prices_are_read(void **state)
{
	struct prices p;

	(void)state;
	assert_int_equal(prices_parse(STR_LIT("vcpu_hour=0.05 gib_hour=0.0162  egress_gib=9 currency=EUR"), &p), 0);
	assert_true(p.set);
	assert_true(p.vcpu_hour > 0.0499999 && p.vcpu_hour < 0.0500001);
	assert_true(p.gib_hour > 0.0161999 && p.gib_hour < 0.0162001);
	assert_true(p.egress_gib > 8.9999999 && p.egress_gib < 9.0000001);
	assert_string_equal(p.currency, "EUR");
	assert_int_equal(prices_parse(STR_LIT("gib_hour=0"), &p), 0);
	assert_string_equal(p.currency, "");
}

static void what_is_no_price_is_refused(void **state)
{
	static const char *const bad[] = { "", "currency=EUR", "vcpu_hour", "vcpu_hour=", "vcpu_hour=-1",
		"vcpu_hour=1e3", "vcpu_hour=.5", "vcpu_hour=1.", "vcpu_hour=1.2.3", "vcpu_hour=nan",
		"vcpu_hour=1000001", "vcpu_hour=0.0123456789", "vcpu_hour=1 vcpu_hour=1", "disk=1",
		"gib_hour=1 currency=e", "gib_hour=1 currency=EURODOLLAR", "gib_hour=1 currency=Eur", "gib_hour=0x1" };
	struct prices p = { .vcpu_hour = 7 };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_true(prices_parse(str_of(bad[i]), &p) < 0);
	assert_true(p.vcpu_hour > 6.9 && !p.set); /* written on success only */
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(prices_are_read),
		cmocka_unit_test(what_is_no_price_is_refused) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
