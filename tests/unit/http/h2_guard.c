/* SPDX-License-Identifier: Apache-2.0 */
/* Units of http/h2_guard: what can be spent at once, and what in the long run. */
#include <stdint.h>

#include "http/h2_guard.h"
#include "unit.h"

static unsigned spend(struct h2_guard *g, uint64_t now_ms, uint32_t cost)
{
	unsigned n = 0;

	while (n < 100000 && h2_guard_pay(g, now_ms, cost))
		n++;
	return n;
}

static void a_purse_is_spent_once(void **state)
{
	struct h2_guard g;

	(void)state;
	h2_guard_init(&g, 1000);
	assert_int_equal(spend(&g, 1000, H2_COST_EARLY_RESET), H2_PURSE / H2_COST_EARLY_RESET);
	assert_int_equal(spend(&g, 1000, H2_COST_EARLY_RESET), 0);
	/* a client may give up a few hundred requests at once */
	assert_true(H2_PURSE / H2_COST_EARLY_RESET > 300);
}

static void income_comes_with_time_and_has_a_limit(void **state)
{
	struct h2_guard g;

	(void)state;
	h2_guard_init(&g, 0);
	(void)spend(&g, 0, 1);
	assert_int_equal(spend(&g, 1000, 1), H2_INCOME);
	for (uint64_t ms = 1001; ms < 3001; ms++) /* asked often it is not less */
		assert_true(spend(&g, ms, 1) <= 1);
	assert_true(spend(&g, 10000000, 1) == H2_PURSE);
	h2_guard_earn(&g, 3 * H2_PURSE);
	assert_int_equal(spend(&g, 10000000, 1), H2_PURSE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_purse_is_spent_once),
		cmocka_unit_test(income_comes_with_time_and_has_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
