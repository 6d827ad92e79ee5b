/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/demand: it rises at once and falls slowly. */
#include <stdint.h>
#include <stdlib.h>

#include "front/util/demand.h"
#include "unit.h"

#define START_MS 7654321

static void a_burst_counts_at_once(void **state)
{
	struct demand d = { 0 };

	(void)state;
	assert_int_equal(demand_level(&d, START_MS), 0);
	for (uint32_t i = 1; i <= 50; i++) {
		demand_note(&d, START_MS + i);
		assert_int_equal(demand_level(&d, START_MS + i), i);
	}
}

static void a_burst_is_forgotten_slowly_and_then_whole(void **state)
{
	struct demand d = { 0 };
	uint32_t last = 50;

	(void)state;
	for (int i = 0; i < 50; i++)
		demand_note(&d, START_MS);
	for (uint64_t s = 1; s <= DEMAND_WINDOW_S - 1; s++)
		assert_int_equal(demand_level(&d, START_MS + s * 1000), 50);
	for (uint64_t s = DEMAND_WINDOW_S; s <= 60; s++) {
		uint32_t now = demand_level(&d, START_MS + s * 1000);

		assert_true(now <= last && now + 6 >= last);
		last = now;
	}
	assert_int_equal(last, 0);
}

static void how_often_one_looks_does_not_matter(void **state)
{
	struct demand often = { 0 }, seldom = { 0 };

	(void)state;
	for (int i = 0; i < 20; i++) {
		demand_note(&often, START_MS);
		demand_note(&seldom, START_MS);
	}
	for (uint64_t ms = 0; ms <= 12000; ms += 100)
		(void)demand_level(&often, START_MS + ms);
	assert_int_equal(demand_level(&often, START_MS + 12000), demand_level(&seldom, START_MS + 12000));
	assert_true(demand_level(&seldom, START_MS + 12000) > 0);
}

static void a_steady_stream_holds_its_level(void **state)
{
	struct demand d = { 0 };

	(void)state;
	for (uint64_t ms = 0; ms < 60000; ms += 500)
		demand_note(&d, START_MS + ms);
	assert_in_range(demand_level(&d, START_MS + 60000), 2 * DEMAND_WINDOW_S - 2, 2 * DEMAND_WINDOW_S);
}

static void a_long_silence_costs_nothing(void **state)
{
	struct demand d = { 0 };

	(void)state;
	demand_note(&d, 1000);
	assert_int_equal(demand_level(&d, UINT64_MAX / 2), 0);
	demand_note(&d, UINT64_MAX / 2);
	assert_int_equal(demand_level(&d, UINT64_MAX / 2), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_counts_at_once),
		cmocka_unit_test(a_burst_is_forgotten_slowly_and_then_whole),
		cmocka_unit_test(how_often_one_looks_does_not_matter),
		cmocka_unit_test(a_steady_stream_holds_its_level),
		cmocka_unit_test(a_long_silence_costs_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
