/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/alerts: once when it gets there, and again only after it was well below. */
#include "front/account/alerts.h"
#include "unit.h"

#include <stdint.h>

static void a_threshold_is_told_of_once_per_crossing(void **state)
{
	static const struct {
		double used;
		bool told;
	} steps[] = {
		{ 10, false },
		{ 79.9, false },
		{ 80, true },
		{ 85, false },
		{ 100, false },
		{ 79, false },
		{ 81, false },
		{ 71, false },
		{ 80, false },
		{ 70, false },
		{ 79, false },
		{ 80, true },
		{ 0, false },
		{ 95, true },
	};
	struct alert_marks m = { { false } };

	(void)state;
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
		assert_int_equal(alert_crossed(&m, ALERT_MEMORY, 80, steps[i].used, 100), steps[i].told);
	assert_true(alert_crossed(&m, ALERT_DISK, 80, 90, 100)); /* each by itself */
}

static void without_a_threshold_or_a_limit_there_is_none(void **state)
{
	struct alert_marks m = { { false } };

	(void)state;
	assert_false(alert_crossed(&m, ALERT_CPU, 0, 1000, 100));
	assert_false(alert_crossed(&m, ALERT_EGRESS, 80, 1e12, 0));
	/* one that is nearer to 0 than the distance */
	assert_true(alert_crossed(&m, ALERT_EGRESS, 5, 6, 100));
	assert_false(alert_crossed(&m, ALERT_EGRESS, 5, 1, 100));
	assert_false(alert_crossed(&m, ALERT_EGRESS, 5, 0, 100));
	assert_true(alert_crossed(&m, ALERT_EGRESS, 5, 5, 100));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_threshold_is_told_of_once_per_crossing),
		cmocka_unit_test(without_a_threshold_or_a_limit_there_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
