/* SPDX-License-Identifier: Apache-2.0 */
/* Units of base/buf: growth, the ceiling, and that an overflow sticks. */
#include <stdint.h>

#include "base/buf.h"
#include "unit.h"

static void buf_keeps_what_is_put(void **state)
{
	autobuf struct buf b = BUF_INIT(10000);

	(void)state;
	for (int i = 0; i < 1000; i++)
		buf_fmt(&b, "%03d,", i);
	assert_false(b.bad);
	assert_int_equal(b.n, 4000);
	assert_memory_equal(b.p + 3996, "999,", 4);
	buf_consume(&b, 3996);
	assert_string_equal(buf_cstr(&b), "999,");
}

static void buf_overflow_sticks(void **state)
{
	autobuf struct buf b = BUF_INIT(4);

	(void)state;
	buf_z(&b, "abcd");
	assert_false(b.bad);
	buf_ch(&b, 'e');
	assert_true(b.bad);
	buf_clear(&b);
	assert_false(b.bad);
	assert_int_equal(b.n, 0);
}

static void buf_long_format(void **state)
{
	autobuf struct buf b = BUF_INIT(4096);

	(void)state;
	buf_fmt(&b, "%01000d", 7);
	assert_int_equal(b.n, 1000);
	assert_int_equal(b.p[999], '7');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buf_keeps_what_is_put),
		cmocka_unit_test(buf_overflow_sticks),
		cmocka_unit_test(buf_long_format),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
