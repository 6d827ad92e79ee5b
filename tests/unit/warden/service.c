/* SPDX-License-Identifier: Apache-2.0 */
/* Units of warden/service: how long a helper that ended waits for its next life. */
#include "warden/service/service.h"
#include "unit.h"

#include <stdint.h>

#define MAX_MS 2000

static void one_that_never_serves_waits_ever_longer(void **state)
{
	(void)state;
	assert_int_equal(service_delay_ms(0, 0, MAX_MS), 0);
	assert_int_equal(service_delay_ms(1, 0, MAX_MS), 0);
	assert_int_equal(service_delay_ms(2, 0, MAX_MS), 50);
	assert_int_equal(service_delay_ms(5, 0, MAX_MS), 400);
	assert_int_equal(service_delay_ms(8, 0, MAX_MS), MAX_MS);
	assert_int_equal(service_delay_ms(1000000, 0, MAX_MS), MAX_MS);
}

/* F7: eight kills in a row made its clients wait two seconds. */
static void one_that_served_is_back_after_a_moment(void **state)
{
	(void)state;
	assert_int_equal(service_delay_ms(0, 1, MAX_MS), 0);
	for (unsigned n = 2; n <= 16; n++)
		assert_int_equal(service_delay_ms(0, n, MAX_MS), 50);
	assert_int_equal(service_delay_ms(0, 8, 10), 10);
}

static void one_that_always_ends_burns_no_processor(void **state)
{
	uint64_t before = 0;

	(void)state;
	for (unsigned n = 1; n < 100; n++) {
		uint64_t now = service_delay_ms(0, n, MAX_MS);

		assert_true(now >= before);
		before = now;
	}
	assert_int_equal(before, MAX_MS);
	assert_int_equal(service_delay_ms(8, 3, MAX_MS), MAX_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_never_serves_waits_ever_longer),
		cmocka_unit_test(one_that_served_is_back_after_a_moment),
		cmocka_unit_test(one_that_always_ends_burns_no_processor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
