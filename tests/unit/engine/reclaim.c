/* SPDX-License-Identifier: Apache-2.0 */
/* Units of engine/reclaim: who is idle, what swap the host has, and the header of a swap device. */
#include <stdint.h>

#include <stdio.h>
#include <string.h>

#include "base/swaps.h"
#include "engine/reclaim/idle.h"
#include "engine/reclaim/zram.h"
#include "unit.h"

#define MS 1000000ull /* ns */
#define MANY 3000

static struct idle_table table;

static void swap_is_told_from_disks(void **state)
{
	static const char head[] = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";
	char two[512];
	uint64_t bytes, left;

	(void)state;
	assert_int_equal(swaps_read("", &bytes, &left), SWAPS_NONE);
	assert_int_equal(swaps_read(head, &bytes, &left), SWAPS_NONE);
	(void)snprintf(two, sizeof two, "%s/dev/zram0                              partition\t1048572\t\t72\t\t100\n",
	    head);
	assert_int_equal(swaps_read(two, &bytes, &left), SWAPS_MEMORY);
	assert_int_equal(bytes, 1048572ull << 10);
	assert_int_equal(left, 1048500ull << 10);
	(void)strcat(two, "/swapfile\\040of\\040mine file 10 10 -2\n");
	assert_int_equal(swaps_read(two, &bytes, &left), SWAPS_DISK);
	assert_int_equal(bytes, 1048582ull << 10);
	assert_int_equal(left, 1048500ull << 10);
	/* what is no number is no device, and more use than size is none left */
	assert_int_equal(swaps_read("/dev/sda1 partition x y 1\n/dev/sda2 partition 1 -1 1\n/dev/sda3", &bytes, &left),
	    SWAPS_NONE);
	assert_int_equal(swaps_read("/dev/sda1 partition 1 2 1", &bytes, &left), SWAPS_DISK);
	assert_int_equal(left, 0);
}

static void a_header_is_what_mkswap_writes(void **state)
{
	char page[ZRAM_HEADER];
	uint32_t words[3];

	(void)state;
	zram_header_fill(page, "atoll-3", 8ull << 20);
	memcpy(words, page + 1024, sizeof words);
	assert_int_equal(words[0], 1);
	assert_int_equal(words[1], (8 << 20) / 4096 - 1);
	assert_int_equal(words[2], 0);
	assert_memory_equal(page + 4086, "SWAPSPACE2", 10);
	assert_true(zram_header_is(page, "atoll-3"));
	assert_false(zram_header_is(page, "atoll-30"));
	assert_false(zram_header_is(page, "atoll-"));
	page[4086] = 'X';
	assert_false(zram_header_is(page, "atoll-3"));
}

static int table_open(void **state)
{
	(void)state;
	return idle_open(&table, MANY);
}

static int table_close(void **state)
{
	(void)state;
	idle_close(&table);
	return 0;
}

static void a_sandbox_is_idle_after_a_while(void **state)
{
	(void)state;
	idle_round(&table);
	struct idle_unit *u = idle_see(&table, "ia", 1000, 50 * MS);

	assert_non_null(u);
	assert_false(idle_is_due(u, 1000, 5000, UINT64_MAX)); /* new ones count as busy */
	idle_round(&table);
	u = idle_see(&table, "ia", 5000, 54 * MS); /* a thousandth of a processor: still idle */
	assert_false(idle_is_due(u, 5000, 5000, UINT64_MAX));
	assert_true(idle_is_due(u, 6000, 5000, 0));
	idle_round(&table);
	u = idle_see(&table, "ia", 7000, 57 * MS);
	assert_false(idle_is_due(u, 7000, 5000, UINT64_MAX)); /* it was busy since */
	assert_true(idle_is_due(u, 12000, 5000, UINT64_MAX));
}

static void what_was_reclaimed_is_left_alone(void **state)
{
	(void)state;
	idle_round(&table);
	struct idle_unit *u = idle_see(&table, "ib", 1000, 0);

	u->given_ms = 6000;
	u->left_bytes = 700 << 10;
	idle_round(&table);
	u = idle_see(&table, "ib", 20000, 0);
	assert_int_equal(u->given_ms, 6000);
	assert_false(idle_is_due(u, 20000, 5000, 900 << 10)); /* as small as it was */
	assert_true(idle_is_due(u, 20000, 5000, 4 << 20));    /* its pages have come back */
	u->given_ms = 18000;
	assert_false(idle_is_due(u, 20000, 5000, 4 << 20)); /* not that often */
	u->left_bytes = 64 << 20;                           /* of which something was in use then */
	assert_false(idle_is_due(u, 57000, 5000, 64 << 20));
	assert_true(idle_is_due(u, 58000, 5000, 64 << 20));
	assert_false(idle_is_due(u, 58000, 5000, 800 << 10));
	idle_round(&table);
	idle_round(&table); /* a round in which it is not there */
	u = idle_see(&table, "ib", 21000, 0);
	assert_int_equal(u->given_ms, 0);
}

static void thousands_have_their_places(void **state)
{
	char id[IDLE_ID_SIZE];
	size_t at = 0, n = 0;

	(void)state;
	for (unsigned round = 0; round < 3; round++) {
		idle_round(&table);
		for (unsigned i = 0; i < MANY; i++) {
			(void)snprintf(id, sizeof id, "i%u", i);
			struct idle_unit *u = idle_see(&table, id, 1000 + round, round * MS * i);

			assert_non_null(u);
			assert_int_equal(u->cpu_ns, round * MS * i);
			assert_ptr_equal(idle_see(&table, id, 1000 + round, 0), u); /* once a round */
		}
	}
	while (idle_next(&table, &at))
		n++;
	assert_int_equal(n, MANY);
	assert_null(idle_see(&table, "", 1, 1));
	assert_null(idle_see(&table, "an id that is much too long", 1, 1));
	for (unsigned i = 0; i < 2 * MANY; i++) {
		(void)snprintf(id, sizeof id, "more%u", i);
		(void)idle_see(&table, id, 1, 1); /* it fills up, and does not hang */
	}
	assert_null(idle_see(&table, "one", 1, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(swap_is_told_from_disks),
		cmocka_unit_test(a_header_is_what_mkswap_writes),
		cmocka_unit_test_setup_teardown(a_sandbox_is_idle_after_a_while, table_open, table_close),
		cmocka_unit_test_setup_teardown(what_was_reclaimed_is_left_alone, table_open, table_close),
		cmocka_unit_test_setup_teardown(thousands_have_their_places, table_open, table_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
