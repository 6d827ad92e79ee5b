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
	slot_fill(3, SLOT_MAX - 1, &last);
	slot_fill(4, 0, &next);
	assert_true(last.first + SLOT_UIDS <= SLOT_Z_UIDS);
	assert_int_equal(last.z_base + SLOT_Z_UIDS, next.z_base);
	assert_true(last.owner < SLOT_UIDS); /* owners are among Z's own first uids */
	assert_true(last.ip < next.gateway - 1);
	slot_fill(3, SLOT_MAX - 2, &other);
	assert_int_equal(other.root + SLOT_UIDS, last.root);
	assert_memory_not_equal(other.mac, last.mac, 6);
	assert_memory_not_equal(last.mac, last.host_mac, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slot_follows_the_plan),
		cmocka_unit_test(slots_share_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
