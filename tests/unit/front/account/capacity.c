/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/capacity: how many more fit, and what is used up first. */
#include "front/account/capacity.h"
#include "unit.h"

#include <stdint.h>

#define GIB (1ull << 30)
#define MIB (1ull << 20)

static const struct capacity_room room = {
	.places = 100,
	.places_used = 40,
	.addresses = 200,
	.addresses_used = 50,
	.mem_left_bytes = 8 * GIB,
	.pids = 30000,
	.pids_used = 1000,
	.disk_left_bytes = 20 * GIB,
	.each_mem_bytes = 64 * MIB,
	.each_pids = 20,
	.each_disk_bytes = 100 * MIB,
};

static void what_is_used_up_first_is_named(void **state)
{
	struct capacity_room r = room;
	uint64_t by[BOUNDS];

	(void)state;
	assert_int_equal(capacity_fits(&r, by), BOUND_SANDBOXES);
	assert_int_equal(by[BOUND_SANDBOXES], 60);
	assert_int_equal(by[BOUND_ADDRESSES], 150);
	assert_int_equal(by[BOUND_MEMORY], 128);
	assert_int_equal(by[BOUND_PROCESSES], 1450);
	assert_int_equal(by[BOUND_DISK], 204);
	r.mem_left_bytes = GIB;
	assert_int_equal(capacity_fits(&r, by), BOUND_MEMORY);
	assert_int_equal(by[BOUND_MEMORY], 16);
	r.pids_used = 29990;
	assert_int_equal(capacity_fits(&r, by), BOUND_PROCESSES);
	r.disk_left_bytes = 0;
	assert_int_equal(capacity_fits(&r, by), BOUND_PROCESSES); /* both 0: the first of them */
	r.pids_used = 0;
	assert_int_equal(capacity_fits(&r, by), BOUND_DISK);
}

static void without_a_pool_the_disk_is_no_bound(void **state)
{
	struct capacity_room r = room;
	uint64_t by[BOUNDS];

	(void)state;
	r.disk_left_bytes = UINT64_MAX;
	r.each_disk_bytes = r.each_mem_bytes = r.each_pids = 0; /* nothing to divide by */
	r.places_used = 101;                                    /* more than there may be: none fits */
	assert_int_equal(capacity_fits(&r, by), BOUND_SANDBOXES);
	assert_int_equal(by[BOUND_SANDBOXES], 0);
	assert_true(by[BOUND_DISK] == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_used_up_first_is_named),
		cmocka_unit_test(without_a_pool_the_disk_is_no_bound) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
