/* SPDX-License-Identifier: Apache-2.0 */
/* Units of engine/room: who may take how much when limits add up to more than there is (F5). */
#include <stdint.h>

#include "engine/disk/room.h"
#include "unit.h"

#define GIB (1ull << 30)

static uint64_t more(struct room_storage p, uint64_t used, uint64_t promised, uint64_t most)
{
	const struct room_use u = { .used = used, .promised = promised, .held = ROOM_NONE };
	uint64_t held = room_held(&p, &u, most);

	return held == ROOM_NONE ? promised - used : held - used;
}

static void with_room_for_all_nobody_is_held(void **state)
{
	const struct room_use u = { .used = GIB, .promised = 2 * GIB, .held = ROOM_NONE };

	(void)state;
	assert_true(room_held(&(struct room_storage) { 64 * GIB, 40 * GIB }, &u, GIB) == ROOM_NONE);
}

static void nobody_gets_at_the_reserve_at_once(void **state)
{
	const struct room_storage p = { 16 * GIB, 15 * GIB };

	(void)state;
	assert_true(room_reserve(&p) == 2 * GIB);
	assert_true(more(p, GIB, 20 * GIB, GIB) == 13 * GIB);
}

static void the_largest_stops_at_the_reserve_and_the_small_go_on(void **state)
{
	const struct room_storage p = { 16 * GIB, 2 * GIB };

	(void)state;
	assert_true(more(p, 12 * GIB, 20 * GIB, 12 * GIB) == 0);
	assert_true(more(p, 7 * GIB, 20 * GIB, 12 * GIB) == 0);
	assert_true(more(p, GIB / 16, 20 * GIB, 12 * GIB) == GIB);
	assert_true(more(p, GIB / 16, GIB / 8, 12 * GIB) == GIB / 16); /* never more than was promised */
}

static void the_less_is_left_the_smaller_one_must_be(void **state)
{
	const struct room_storage half = { 16 * GIB, GIB }, none = { 16 * GIB, 0 };

	(void)state;
	assert_true(more(half, 4 * GIB, 20 * GIB, 12 * GIB) == 0);
	assert_true(more(half, 2 * GIB, 20 * GIB, 12 * GIB) == GIB / 2);
	assert_true(more(none, 4096, 20 * GIB, 12 * GIB) == 0);
}

static void a_small_pool_keeps_a_larger_part(void **state)
{
	(void)state;
	assert_true(room_reserve(&(struct room_storage) { GIB, GIB }) == GIB / 4);
	assert_true(room_reserve(&(struct room_storage) { 4 * GIB, 0 }) == GIB);
	assert_true(room_reserve(&(struct room_storage) { 64 * GIB, 0 }) == 8 * GIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_room_for_all_nobody_is_held),
		cmocka_unit_test(nobody_gets_at_the_reserve_at_once),
		cmocka_unit_test(the_largest_stops_at_the_reserve_and_the_small_go_on),
		cmocka_unit_test(the_less_is_left_the_smaller_one_must_be),
		cmocka_unit_test(a_small_pool_keeps_a_larger_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
