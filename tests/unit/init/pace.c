/* SPDX-License-Identifier: Apache-2.0 */
/* Units of init/process/pace: how often output is read (F2). Reads are counted in a time that the test makes up. */
#include "init/process/pace.h"

#include "base/fd.h"

#include "unit.h"

#define BURST (PACE_BURST_US / PACE_READ_US)
#define START_US 1000000

/* Output that is always ready; counts the reads of one second, each of which takes so long. */
static unsigned reads_in_a_second(uint64_t read_us, unsigned *ret_rests)
{
	struct pace p = { 0 };
	uint64_t now_us = START_US;
	unsigned n = 0;

	*ret_rests = 0;
	while (now_us < START_US + 1000000) {
		if (pace_take(&p, now_us)) {
			n++;
			now_us += read_us;
			pace_done(&p, now_us);
		} else {
			++*ret_rests;
			now_us += PACE_REST_MS * 1000;
		}
	}
	return n;
}

static void a_flood_of_small_pieces_is_read_rarely(void **state)
{
	unsigned rests, n = reads_in_a_second(10, &rests);

	(void)state;
	assert_in_range(n, 1, BURST + 1000000 / PACE_READ_US);
	assert_in_range(rests, 100, 1000); /* others get the processor in each */
}

static void a_flood_of_large_pieces_rests_a_part_of_the_time(void **state)
{
	static const uint64_t took_us[] = { PACE_READ_US, 2 * PACE_READ_US, 5 * PACE_READ_US };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(took_us); i++) {
		unsigned rests, n = reads_in_a_second(took_us[i], &rests);

		assert_in_range(rests, 150, 250);
		assert_in_range(n * took_us[i], 750000, 850000); /* of a second */
	}
}

static void a_read_that_lost_the_processor_costs_little(void **state)
{
	struct pace p = { 0 };

	(void)state;
	assert_true(pace_take(&p, START_US));
	pace_done(&p, START_US + 1000000);
	assert_true(p.used_us <= PACE_READ_MOST_US);
}

static void little_output_never_waits(void **state)
{
	struct pace p = { 0 };

	(void)state;
	for (uint64_t second = 1; second < 10; second++) {
		for (unsigned i = 0; i < BURST; i++)
			assert_true(pace_take(&p, second * 1000000 + i));
	}
}

static void rest_brings_reads_back(void **state)
{
	struct pace p = { 0 };
	unsigned n = 0;

	(void)state;
	while (pace_take(&p, START_US))
		n++;
	assert_int_equal(n, BURST);
	assert_true(pace_take(&p, START_US + PACE_REST_MS * 1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flood_of_small_pieces_is_read_rarely),
		cmocka_unit_test(a_flood_of_large_pieces_rests_a_part_of_the_time),
		cmocka_unit_test(a_read_that_lost_the_processor_costs_little),
		cmocka_unit_test(little_output_never_waits),
		cmocka_unit_test(rest_brings_reads_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
