/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/util/demand: what a burst asks for, and how long it is remembered. */
#include <stdint.h>
#include <stdlib.h>

#include "front/util/demand.h"
#include "unit.h"

#define HOUR ((uint64_t)DEMAND_HOUR_MS)
#define START_MS (1000 * HOUR)
#define PER_S 20

static void burst(struct demand *d, uint64_t at_ms, int n)
{
	for (int i = 0; i < n; i++)
		demand_note(d, at_ms, PER_S);
}

static void a_burst_counts_at_once(void **state)
{
	struct demand d = { 0 };

	(void)state;
	assert_int_equal(demand_level(&d, START_MS), 0);
	for (uint32_t i = 1; i <= 50; i++) {
		demand_note(&d, START_MS, PER_S);
		assert_int_equal(demand_level(&d, START_MS), i);
	}
}

static void a_burst_after_a_quiet_hour_finds_as_many(void **state)
{
	struct demand d = { 0 };

	(void)state;
	burst(&d, START_MS + HOUR - 1, 50);
	for (uint64_t minutes = 0; minutes <= 120; minutes += 5)
		assert_int_equal(demand_level(&d, START_MS + HOUR - 1 + minutes * 60000), 50);
}

static void a_burst_is_forgotten_over_hours_and_then_whole(void **state)
{
	struct demand d = { 0 };
	const uint32_t want[] = { 48, 48, 48, 24, 24, 12, 12, 6, 6, 3, 3, 1, 0, 0 };

	(void)state;
	burst(&d, START_MS, 48);
	for (uint64_t h = 0; h < sizeof want / sizeof want[0]; h++)
		assert_int_equal(demand_level(&d, START_MS + h * HOUR), want[h]);
}

/* What can be refilled in between needs no member. */
static void a_slow_stream_needs_one(void **state)
{
	struct demand d = { 0 };

	(void)state;
	for (uint64_t ms = 0; ms < 600000; ms += 1000 / PER_S)
		demand_note(&d, START_MS + ms, PER_S);
	assert_int_equal(demand_level(&d, START_MS + 600000), 1);
}

/* Twice as fast as the refills, for ten seconds: half of the requests. */
static void a_fast_stream_needs_the_difference(void **state)
{
	struct demand d = { 0 };

	(void)state;
	for (uint64_t ms = 0; ms < 10000; ms += 500 / PER_S)
		demand_note(&d, START_MS + ms, PER_S);
	assert_in_range(demand_level(&d, START_MS + 10000), 10 * PER_S - 2, 10 * PER_S + 2);
}

static void bursts_far_apart_do_not_add_up(void **state)
{
	struct demand d = { 0 };

	(void)state;
	for (uint64_t m = 0; m < 30; m++)
		burst(&d, START_MS + m * 60000, 10);
	assert_int_equal(demand_level(&d, START_MS + 30 * 60000), 10);
}

static void the_largest_of_several_bursts_counts(void **state)
{
	struct demand d = { 0 };

	(void)state;
	burst(&d, START_MS, 40);
	burst(&d, START_MS + 2 * HOUR, 15);
	assert_int_equal(demand_level(&d, START_MS + 2 * HOUR), 40);
	assert_int_equal(demand_level(&d, START_MS + 3 * HOUR), 20);
	assert_int_equal(demand_level(&d, START_MS + 5 * HOUR), 10);
}

static void how_often_one_looks_does_not_matter(void **state)
{
	struct demand often = { 0 }, seldom = { 0 };

	(void)state;
	burst(&often, START_MS, 20);
	burst(&seldom, START_MS, 20);
	for (uint64_t ms = 0; ms <= 4 * HOUR; ms += 60000)
		(void)demand_level(&often, START_MS + ms);
	assert_int_equal(demand_level(&often, START_MS + 4 * HOUR), demand_level(&seldom, START_MS + 4 * HOUR));
}

static void a_long_silence_costs_nothing(void **state)
{
	struct demand d = { 0 };

	(void)state;
	demand_note(&d, 1000, PER_S);
	assert_int_equal(demand_level(&d, 1000), 1);
	assert_int_equal(demand_level(&d, UINT64_MAX / 2), 0);
	demand_note(&d, UINT64_MAX / 2, PER_S);
	assert_int_equal(demand_level(&d, UINT64_MAX / 2), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_counts_at_once),
		cmocka_unit_test(a_burst_after_a_quiet_hour_finds_as_many),
		cmocka_unit_test(a_burst_is_forgotten_over_hours_and_then_whole),
		cmocka_unit_test(a_slow_stream_needs_one),
		cmocka_unit_test(a_fast_stream_needs_the_difference),
		cmocka_unit_test(bursts_far_apart_do_not_add_up),
		cmocka_unit_test(the_largest_of_several_bursts_counts),
		cmocka_unit_test(how_often_one_looks_does_not_matter),
		cmocka_unit_test(a_long_silence_costs_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
