/* SPDX-License-Identifier: Apache-2.0 */
/* Units of engine/view_text and engine/cpus: which processors, and the files of a view. */
#include <stdint.h>
#include <stdlib.h>

#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "engine/view/text.h"
#include "unit.h"

static struct cpus some(size_t n, size_t step)
{
	struct cpus c = { .n = n };

	for (size_t i = 0; i < n; i++)
		c.at[i] = (uint16_t)(i * step);
	return c;
}

static void choose(const struct cpus *all, uint32_t slot, uint32_t permille, const char *want)
{
	struct cpus got;
	char z[64];

	cpus_choose(all, slot, permille, &got);
	assert_true(cpus_text(&got, z, sizeof z));
	assert_string_equal(z, want);
}

/* H8: two processors of sixteen. */
static void a_sandbox_gets_as_many_processors_as_its_limit(void **state)
{
	struct cpus all = some(16, 1), even = some(4, 2);

	(void)state;
	choose(&all, 0, 2000, "0-1");
	choose(&all, 1, 2000, "2-3");
	choose(&all, 8, 2000, "0-1");
	choose(&all, 3, 500, "3");
	choose(&all, 5, 3000, "0-1,15");
	choose(&all, 5, 16000, "0-15");
	choose(&all, 5, 0, "0-15");
	choose(&even, 1, 2000, "4,6");
}

static void sizes_are_spread_evenly(void **state)
{
	struct cpus all = some(16, 1), got;
	unsigned used[16] = { 0 };

	(void)state;
	for (uint32_t slot = 0; slot < 16; slot++) {
		cpus_choose(&all, slot, 3000, &got);
		assert_int_equal(got.n, 3);
		for (size_t i = 0; i < got.n; i++)
			used[got.at[i]]++;
	}
	for (size_t i = 0; i < 16; i++)
		assert_int_equal(used[i], 3);
}

static const char cpuinfo[] = "processor\t: 0\nmodel name\t: A\nsiblings\t: 16\ncpu cores\t: 8\n\n"
			      "processor\t: 1\nmodel name\t: B\nsiblings\t: 16\ncpu cores\t: 8\n\nHardware\t: board\n";

static struct view_facts facts(void)
{
	return (struct view_facts) {
		.row = { .mem_bytes = 512ull << 20, .swap_bytes = 64ull << 20, .cpu_permille = 1000 },
		.use = {
			.mem_bytes = 200ull << 20,
			.cache = 50ull << 20,
			.active_file = 30ull << 20,
			.inactive_file = 10ull << 20,
			.swap_bytes = 4ull << 20,
			.cpu_user_ns = 3000000000,
			.cpu_system_ns = 1000000000,
			.pids = 7,
		},
		.cpus = { .at = { 1 }, .n = 1 },
		.age_ms = 10500,
		.host_boot_s = 1700000000,
		.load = { 0.5, 0.25, 0.125 },
		.cpuinfo = cpuinfo,
	};
}

static void shows(enum view_file which, const struct view_facts *f, const char *want)
{
	autobuf struct buf out = BUF_INIT(1 << 20);

	view_text(which, f, &out);
	assert_non_null(buf_cstr(&out));
	if (!strstr(buf_cstr(&out), want))
		fail_msg("'%s' is not in '%s'", want, buf_cstr(&out));
}

static void files_tell_of_the_sandbox(void **state)
{
	struct view_facts f = facts();

	(void)state;
	shows(VIEW_MEMINFO, &f,
	    "MemTotal:         524288 kB\nMemFree:          319488 kB\nMemAvailable:     360448 kB\n");
	shows(VIEW_MEMINFO, &f, "SwapTotal:         65536 kB\nSwapFree:          61440 kB\n");
	shows(VIEW_STAT, &f, "cpu  300 0 100 650 0 0 0 0 0 0\ncpu1 300 0 100 650 0 0 0 0 0 0\nintr 0\n");
	shows(VIEW_STAT, &f, "btime 1700000000\nprocesses 7\n");
	shows(VIEW_UPTIME, &f, "10.50 6.50\n");
	shows(VIEW_LOADAVG, &f, "0.50 0.25 0.12 1/7 7\n");
	shows(VIEW_SWAPS, &f, "65536\t\t4096\t\t-2\n");
	shows(VIEW_CPUS, &f, "1\n");
	shows(VIEW_CPUINFO, &f, "processor\t: 1\nmodel name\t: B\nsiblings\t: 1\ncpu cores\t: 1\n\n");
}

/* A restored one may use more than it is told, and a file of the host may be empty. */
static void nothing_falls_below_zero(void **state)
{
	struct view_facts f = facts();

	(void)state;
	f.use.mem_bytes = 600ull << 20;
	shows(VIEW_MEMINFO, &f, "MemFree:               0 kB\n");
	f.row.extra_bytes = 300ull << 20;
	shows(VIEW_MEMINFO, &f, "MemFree:          217088 kB\n");
	f.age_ms = 0;
	shows(VIEW_UPTIME, &f, "0.00 0.00\n");
	f.cpuinfo = "";
	shows(VIEW_CPUINFO, &f, "");
}

static void load_follows_use(void **state)
{
	double load[3] = { 0, 0, 0 };

	(void)state;
	for (int i = 0; i < 600; i++)
		view_load(load, 1000, 2000000000);
	assert_true(load[0] > 1.9 && load[0] <= 2.0);
	assert_true(load[0] > load[1] && load[1] > load[2] && load[2] > 0);
	for (int i = 0; i < 600; i++)
		view_load(load, 1000, 0);
	assert_true(load[0] < 0.1 && load[2] > load[0]);
	view_load(load, 0, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sandbox_gets_as_many_processors_as_its_limit),
		cmocka_unit_test(sizes_are_spread_evenly),
		cmocka_unit_test(files_tell_of_the_sandbox),
		cmocka_unit_test(nothing_falls_below_zero),
		cmocka_unit_test(load_follows_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
