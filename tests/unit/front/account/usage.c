/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/usage: the ring of samples. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "front/account/usage.h"
#include "ipc/msg.h"
#include "unit.h"

static void cpu_is_counted_between_samples(void **state)
{
	struct usage_ring r = { 0 };
	struct msg_usage m = { .cpu_ns = 500000000, .mem_bytes = 7 };

	(void)state;
	usage_init(&r, 0);
	assert_null(usage_get(&r, 0));
	usage_add(&r, &m, 1000, 1); /* half a second of CPU in one second */
	m.cpu_ns += 10000000000;
	usage_add(&r, &m, 6000, 2); /* ten in five: two cores */
	assert_float_equal(usage_get(&r, 0)->cpu_pct, 50.0, 0.01);
	assert_float_equal(usage_cpu_pct(usage_get(&r, 0), &(struct msg_limits) { .cpu_permille = 2000 }), 25.0, 0.01);
	assert_float_equal(usage_cpu_pct(usage_get(&r, 0), &(struct msg_limits) { .cpu_permille = 500 }), 50.0, 0.01);
	assert_float_equal(usage_get(&r, 1)->cpu_pct, 200.0, 0.01);
	assert_null(usage_get(&r, 2));
	usage_done(&r);
}

/* A life's work in the second since the front was started would be a peak that never was, and an alert. */
static void what_was_used_before_is_no_peak(void **state)
{
	struct usage_ring r = { 0 };
	struct msg_usage m = { .cpu_ns = 3600000000000 };

	(void)state;
	usage_init(&r, 0);
	usage_adopt(&r, &m);
	usage_add(&r, &m, 1000, 1);
	m.cpu_ns += 500000000;
	usage_add(&r, &m, 2000, 2);
	assert_float_equal(usage_get(&r, 0)->cpu_pct, 0.0, 0.01);
	assert_float_equal(usage_get(&r, 1)->cpu_pct, 50.0, 0.01);
	usage_done(&r);
}

static void old_samples_make_room(void **state)
{
	struct usage_ring r = { 0 };
	struct msg_usage m = { 0 };

	(void)state;
	usage_init(&r, 0);
	for (uint64_t i = 0; i < USAGE_KEPT + 10; i++)
		usage_add(&r, &m, i + 1, i);
	assert_int_equal(usage_get(&r, 0)->at_ms, 10);
	assert_int_equal(usage_get(&r, USAGE_KEPT - 1)->at_ms, USAGE_KEPT + 9);
	assert_null(usage_get(&r, USAGE_KEPT));
	usage_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_is_counted_between_samples),
		cmocka_unit_test(what_was_used_before_is_no_peak),
		cmocka_unit_test(old_samples_make_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
