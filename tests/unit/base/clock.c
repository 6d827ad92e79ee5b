/* SPDX-License-Identifier: Apache-2.0 */
/* Units of base/clock: RFC 3339 both ways. */
#include <errno.h>
#include <stdint.h>

#include "base/clock.h"
#include "unit.h"

static void clock_round_trip(void **state)
{
	char z[CLOCK_RFC3339_SIZE];
	uint64_t us;

	(void)state;
	clock_rfc3339(1767323045678, z);
	assert_string_equal(z, "2026-01-02T03:04:05.678Z");
	assert_int_equal(clock_parse_rfc3339(str_of(z), &us), 0);
	assert_true(us == 1767323045678000);
}

static void clock_reads_offsets_and_fractions(void **state)
{
	uint64_t us;

	(void)state;
	assert_int_equal(clock_parse_rfc3339(STR_LIT("2026-01-02T05:04:05.123456789+02:00"), &us), 0);
	assert_true(us == 1767323045123456);
	assert_int_equal(clock_parse_rfc3339(STR_LIT("2026-01-02T03:04:05Z"), &us), 0);
}

static void clock_refuses_nonsense(void **state)
{
	static const char *const bad[] = { "", "2026", "2026-13-02T03:04:05Z", "2026-01-02T03:04:05",
		"2026-01-02T03:04:05.Z", "2026-01-02T03:04:05+2:00", "2026-01-02T03:04:05Zx" };
	uint64_t us;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(clock_parse_rfc3339(str_of(bad[i]), &us), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clock_round_trip),
		cmocka_unit_test(clock_reads_offsets_and_fractions),
		cmocka_unit_test(clock_refuses_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
