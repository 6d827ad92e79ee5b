/* SPDX-License-Identifier: Apache-2.0 */
/* Units of audit/tally: what is told of many records. */
#include <stdint.h>

#include <stdio.h>

#include "refusals/tally.h"
#include "unit.h"

#define BASE 0x10000000u
#define AREA 0x90000000u

static const uint32_t uids[] = { BASE, AREA };

static struct tally t;

static struct record record(uint32_t slot, int32_t nr, const char *comm)
{
	struct record r = { .uid = uids[slot / TALLY_RANGE] + slot % TALLY_RANGE * TALLY_SLOT_UIDS + 1000,
		.pid = 5,
		.arch = 1,
		.nr = nr };

	(void)snprintf(r.comm, sizeof r.comm, "%s", comm);
	return r;
}

static bool add(uint32_t slot, int32_t nr, const char *comm, uint64_t now_ms)
{
	struct record r = record(slot, nr, comm);

	return refusals_tally_add(&t, &r, now_ms) != NULL;
}

static void repeats_are_counted(void **state)
{
	struct au_event ev;

	(void)state;
	tally_init(&t, uids, 2);
	assert_int_equal(tally_wait_ms(&t, 1000), -1);
	assert_true(add(3, 250, "x", 1000));
	assert_false(add(3, 250, "x", 1001));
	assert_true(add(TALLY_RANGE + 3, 250, "x", 1001)); /* in an area: another sandbox */
	assert_false(add(TALLY_RANGE + 3, 250, "x", 1001));
	assert_true(add(3, 250, "y", 1002));
	assert_true(add(4, 250, "x", 1003));
	assert_int_equal(tally_wait_ms(&t, 1050), TALLY_MS - 50);
	assert_false(tally_take(&t, 1000 + TALLY_MS - 1, &ev));
	assert_true(tally_take(&t, 1000 + TALLY_MS, &ev));
	assert_int_equal(ev.type, AU_DENIED);
	assert_int_equal(ev.count, 2);
	assert_string_equal(ev.comm, "x");
	assert_true(tally_take(&t, 1000 + TALLY_MS, &ev));
	assert_int_equal((ev.uid - AREA) / TALLY_SLOT_UIDS, 3);
	assert_int_equal(ev.count, 2);
	assert_true(tally_take(&t, 1000 + TALLY_MS, &ev));
	assert_true(tally_take(&t, 1000 + TALLY_MS, &ev));
	assert_int_equal((ev.uid - BASE) / TALLY_SLOT_UIDS, 4);
	assert_false(tally_take(&t, 1000 + TALLY_MS, &ev));
	assert_int_equal(tally_wait_ms(&t, 9999), -1);
}

static void who_is_no_sandbox_is_ignored(void **state)
{
	struct record below = { .uid = BASE - 1 }, above = { .uid = AREA + TALLY_RANGE * TALLY_SLOT_UIDS },
		      root = { .uid = 0 };

	(void)state;
	tally_init(&t, uids, 2);
	assert_null(refusals_tally_add(&t, &below, 1));
	assert_null(refusals_tally_add(&t, &above, 1));
	assert_null(refusals_tally_add(&t, &root, 1));
	assert_int_equal(t.n, 0);
}

static void one_sandbox_cannot_take_all_the_room(void **state)
{
	struct au_event ev;
	unsigned events = 0, floods = 0;
	char comm[16];

	(void)state;
	tally_init(&t, uids, 2);
	for (unsigned i = 0; i < 10000; i++) {
		(void)snprintf(comm, sizeof comm, "c%u", i); /* another name each time */
		(void)add(1, (int32_t)i, comm, 10);
	}
	assert_true(add(2, 250, "other", 11));
	while (tally_take(&t, 10 + TALLY_MS, &ev)) {
		floods += ev.type == AU_FLOOD;
		events += ev.type == AU_DENIED && (ev.uid - BASE) / TALLY_SLOT_UIDS == 1;
	}
	assert_int_equal(events, TALLY_EACH_MAX);
	assert_int_equal(floods, 1);
}

static void a_full_table_drops_the_rest(void **state)
{
	struct au_event ev;
	size_t n = 0;

	(void)state;
	tally_init(&t, uids, 2);
	for (uint32_t i = 0; i < 2 * TALLY_RANGE; i++)
		(void)add(i, 1, "x", 5);
	while (tally_take(&t, 5 + TALLY_MS, &ev))
		n++;
	assert_int_equal(n, TALLY_MAX);
	assert_true(add(2 * TALLY_RANGE - 1, 1, "x", 6));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(repeats_are_counted),
		cmocka_unit_test(who_is_no_sandbox_is_ignored),
		cmocka_unit_test(one_sandbox_cannot_take_all_the_room),
		cmocka_unit_test(a_full_table_drops_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
