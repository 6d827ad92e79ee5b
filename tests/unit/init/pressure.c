/* SPDX-License-Identifier: Apache-2.0 */
/* Units of init/pressure: when to look, what a process holds, and whose end counts as one for memory. */
#include "unit.h"

#include <signal.h>

#include "init/oom.h"
#include "init/pressure.h"
#include "loop/loop.h"

static void the_less_is_free_the_sooner_it_looks(void **state)
{
	uint64_t last = 0;

	(void)state;
	assert_int_equal(pressure_wait_ms(0), 10);
	assert_int_equal(pressure_wait_ms(400ull << 20), 200);
	assert_int_equal(pressure_wait_ms(UINT64_MAX), 500);
	for (uint64_t n = 0; n < 4ull << 30; n += 16 << 20) {
		assert_true(pressure_wait_ms(n) >= last);
		last = pressure_wait_ms(n);
	}
}

static void resident_pages_are_the_second_number(void **state)
{
	(void)state;
	assert_int_equal(pressure_pages(STR_LIT("9000 1234 12 1 0 400 0\n")), 1234);
	assert_int_equal(pressure_pages(STR_LIT("9000")), 0);
	assert_int_equal(pressure_pages(STR_LIT("9000 -4 1")), 0);
	assert_int_equal(pressure_pages(STR_LIT("")), 0);
}

static void a_limit_survives_what_the_kernel_shows(void **state)
{
	const uint64_t mb = 1 << 20;

	(void)state;
	assert_int_equal(pressure_limit(0, 512 * mb, 100 * mb), 512 * mb);
	assert_int_equal(pressure_limit(512 * mb, 512 * mb, 512 * mb), 512 * mb);
	assert_int_equal(pressure_limit(512 * mb, 1024 * mb, 513 * mb), 512 * mb);  /* it has given out more */
	assert_int_equal(pressure_limit(512 * mb, 1024 * mb, 100 * mb), 1024 * mb); /* a copy with another limit */
	assert_int_equal(pressure_limit(512 * mb, 700 * mb, 600 * mb), 700 * mb);
}

static void no_judge(void *user, bool last)
{
	(void)user;
	(void)last;
	fail();
}

/* Without a kernel that ends processes, an end by SIGKILL is judged at once. */
static void an_end_counts_if_it_was_announced(void **state)
{
	struct loop *l = loop_new();
	struct oom o;

	(void)state;
	oom_open(&o, l, no_judge, NULL);
	o.is_ours = true;
	assert_int_equal(oom_judge(&o, SIGKILL, false), OOM_NO);
	oom_ending(&o, 512ull << 20);
	assert_int_equal(oom_judge(&o, SIGKILL, false), OOM_YES);
	assert_int_equal(oom_judge(&o, SIGKILL, false), OOM_NO);
	assert_int_equal(o.limit_mb, 512);
	loop_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_less_is_free_the_sooner_it_looks),
		cmocka_unit_test(resident_pages_are_the_second_number),
		cmocka_unit_test(a_limit_survives_what_the_kernel_shows),
		cmocka_unit_test(an_end_counts_if_it_was_announced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
