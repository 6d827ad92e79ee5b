/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/bucket: requests per second. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "front/util/bucket.h"
#include "unit.h"

static unsigned take_all(struct bucket *b, uint32_t per_s, uint64_t now_ms, struct bucket_view *v)
{
	unsigned n = 0;

	while (bucket_take(b, per_s, now_ms, v))
		n++;
	return n;
}

static void a_burst_is_twice_the_rate(void **state)
{
	static const uint32_t rates[] = { 1, 3, 10, 1000, 100000 };

	(void)state;
	for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
		struct bucket b = { 0 };
		struct bucket_view v;

		assert_int_equal(take_all(&b, rates[i], 5000, &v), 2 * rates[i]);
		assert_int_equal(v.limit, rates[i]);
		assert_int_equal(v.remaining, 0);
		assert_int_equal(v.retry_s, 1);
		assert_int_equal(v.reset_s, 2);
	}
}

static void it_fills_again_at_the_rate(void **state)
{
	struct bucket b = { 0 };
	struct bucket_view v;

	(void)state;
	(void)take_all(&b, 10, 5000, &v);
	assert_false(bucket_take(&b, 10, 5099, &v));
	assert_int_equal(take_all(&b, 10, 5500, &v), 5);
	assert_int_equal(take_all(&b, 10, 1000000, &v), 20); /* never more than a burst */
}

static void it_tells_what_remains(void **state)
{
	struct bucket b = { 0 };
	struct bucket_view v;

	(void)state;
	assert_true(bucket_take(&b, 10, 5000, &v));
	assert_int_equal(v.remaining, 19);
	assert_int_equal(v.reset_s, 1);
	assert_int_equal(v.retry_s, 0);
}

static void one_per_second_can_wait_a_second(void **state)
{
	struct bucket b = { 0 };
	struct bucket_view v;

	(void)state;
	assert_int_equal(take_all(&b, 1, 5000, &v), 2);
	assert_int_equal(v.retry_s, 1);
	assert_true(bucket_take(&b, 1, 6000, &v));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_is_twice_the_rate),
		cmocka_unit_test(it_fills_again_at_the_rate),
		cmocka_unit_test(it_tells_what_remains),
		cmocka_unit_test(one_per_second_can_wait_a_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
