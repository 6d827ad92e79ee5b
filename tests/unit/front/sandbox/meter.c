/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/meter: time belongs to the day in which it passed. */
#include "front/sandbox/meter.h"
#include "unit.h"

#include <stdint.h>

#define DAY 86400000ull

static void a_stretch_ends_at_midnight(void **state)
{
	(void)state;
	assert_int_equal(meter_day_end(5, 10), 10);
	assert_int_equal(meter_day_end(DAY - 1, DAY), DAY);
	assert_int_equal(meter_day_end(DAY - 1, DAY + 1), DAY);
	assert_int_equal(meter_day_end(DAY, DAY + 1), DAY + 1);
	assert_int_equal(meter_day_end(DAY, 5 * DAY), 2 * DAY);
	assert_int_equal(meter_day_end(7, 7), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_stretch_ends_at_midnight) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
