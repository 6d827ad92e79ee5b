/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/reap: who is idle. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sandbox/reap.h"
#include "unit.h"

#define NOON_MS 1767355200000ull /* 2026-01-02T12:00:00Z */

static void idle_counts_from_the_last_call(void **state)
{
	struct atoll_info i = { .started_at = "2026-01-02T08:00:00.000Z",
		.last_activity_at = "2026-01-02T11:00:00.000Z" };

	(void)state;
	assert_true(reap_is_idle(&i, NOON_MS, 3600));
	assert_false(reap_is_idle(&i, NOON_MS - 1000, 3600));
	assert_false(reap_is_idle(&i, NOON_MS, 3601));
}

static void without_a_call_it_counts_from_the_start(void **state)
{
	struct atoll_info i = { .started_at = "2026-01-02T10:00:00.000Z" };

	(void)state;
	assert_true(reap_is_idle(&i, NOON_MS, 7200));
	assert_false(reap_is_idle(&i, NOON_MS, 7201));
}

static void what_cannot_be_read_is_left_alone(void **state)
{
	struct atoll_info i = { .started_at = "", .last_activity_at = "never" };

	(void)state;
	assert_false(reap_is_idle(&i, NOON_MS, 1));
	i.last_activity_at = "2027-01-01T00:00:00Z"; /* the clocks differ */
	assert_false(reap_is_idle(&i, NOON_MS, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_counts_from_the_last_call),
		cmocka_unit_test(without_a_call_it_counts_from_the_start),
		cmocka_unit_test(what_cannot_be_read_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
