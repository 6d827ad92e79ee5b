/* SPDX-License-Identifier: Apache-2.0 */
/* Units of engine/slot: the numbers that a restarted warden, the firewall and a sandbox must agree on. */
#include <stdint.h>

#include "engine/slot.h"
#include "unit.h"

static void slot_follows_the_plan(void **state)
{
	struct slot s;

	(void)state;
	slot_fill(0, 0, &s);
	assert_int_equal(s.z_base, 0x10000000);
	assert_int_equal(s.owner, 1);
	assert_int_equal(s.root, 0x10000000 + 65536);
	assert_int_equal(s.ip, 0x0ac80100); /* 10.200.1.0 */
	assert_int_equal(s.gateway, 0x0ac80001);
	assert_string_equal(s.veth, "at0s0");
	slot_fill(15, 1999, &s);
	assert_int_equal(s.ip, 0x0ad70000 + 256 + 1999);
	assert_string_equal(s.veth, "at15s1999");
	assert_int_equal(s.mac[4] << 8 | s.mac[5], 1999);
	assert_int_equal(s.mac[0] & 3, 2); /* local, not a group */
}

static void slots_share_nothing(void **state)
{
	struct slot last, next, other;

	(void)state;
	slot_fill(3, SLOT_HOME - 1, &last);
	slot_fill(4, 0, &next);
	assert_true(last.first + SLOT_UIDS <= SLOT_Z_UIDS);
	assert_int_equal(last.z_base + SLOT_Z_UIDS, next.z_base);
	assert_true(last.owner < SLOT_UIDS); /* owners are among Z's own first uids */
	assert_true(last.ip < next.gateway - 1);
	slot_fill(3, SLOT_HOME - 2, &other);
	assert_int_equal(other.root + SLOT_UIDS, last.root);
	assert_memory_not_equal(other.mac, last.mac, 6);
	assert_memory_not_equal(last.mac, last.host_mac, 6);
}

/* Beyond the home: the areas, in the order in which the server has them. */
static void far_slots_are_in_areas(void **state)
{
	const uint32_t areas[] = { 12, 0 };
	struct slot first, last, next;
	struct id_map maps[SLOT_MAPS];

	(void)state;
	assert_int_equal(slot_usable(), SLOT_HOME);
	slot_fill(1, SLOT_HOME, &first);
	assert_int_equal(first.root, 0); /* no area yet */
	slot_areas_use(areas, 2);
	assert_int_equal(slot_usable(), SLOT_HOME + 2 * SLOT_OF_AREA);
	slot_fill(1, SLOT_HOME, &first);
	assert_int_equal(first.root, 0xf0000000);
	assert_int_equal(first.first, SLOT_Z_UIDS);
	slot_fill(1, SLOT_HOME + SLOT_OF_AREA - 1, &last);
	assert_int_equal(last.root, 0xf8000000 - SLOT_UIDS);
	slot_fill(1, SLOT_HOME + SLOT_OF_AREA, &next);
	assert_int_equal(next.root, 0x90000000);
	assert_int_equal(next.first, 2 * SLOT_Z_UIDS);
	assert_string_equal(next.veth, "at1s4048");
	assert_int_equal(next.ip, 0x0ac90000 + 256 + 4048);
	slot_fill(15, SLOT_MAX - 1, &last);
	assert_true(last.ip < 0x0ad7ffff); /* the broadcast address of 10.215.0.0/16 */
	assert_true(last.owner < SLOT_UIDS);
	assert_int_equal(slot_maps(1, maps), 3);
	assert_int_equal(maps[0].outside, 0x18000000);
	assert_int_equal(maps[1].inside, SLOT_Z_UIDS);
	assert_int_equal(maps[1].outside, 0xf0000000);
	slot_areas_use(NULL, 0);
}

static void uids_lead_back_to_their_slot(void **state)
{
	static const uint32_t ks[] = { 0, 1, SLOT_HOME - 1, SLOT_HOME, SLOT_HOME + SLOT_OF_AREA - 1,
		SLOT_HOME + SLOT_OF_AREA, SLOT_HOME + 2 * SLOT_OF_AREA - 1 };
	const uint32_t areas[] = { 3, 7 };
	struct slot s;

	(void)state;
	slot_areas_use(areas, 2);
	for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
		slot_fill(2, ks[i], &s);
		assert_int_equal(slot_of_uid(2, s.root), ks[i]);
		assert_int_equal(slot_of_uid(2, s.root + SLOT_UIDS - 1), ks[i]);
	}
	assert_int_equal(slot_of_uid(2, 0), SLOT_MAX);
	assert_int_equal(slot_of_uid(2, s.z_base), SLOT_MAX); /* Z's own */
	assert_int_equal(slot_of_uid(2, slot_volume_root(2, 0)), SLOT_MAX);
	assert_int_equal(slot_of_uid(2, s.z_base - 1), SLOT_MAX);
	assert_int_equal(slot_of_uid(2, 0x90000000), SLOT_MAX); /* an area of another server */
	assert_int_equal(slot_of_uid(2, UINT32_MAX), SLOT_MAX);
	slot_areas_use(NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slot_follows_the_plan),
		cmocka_unit_test(slots_share_nothing),
		cmocka_unit_test(far_slots_are_in_areas),
		cmocka_unit_test(uids_lead_back_to_their_slot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
