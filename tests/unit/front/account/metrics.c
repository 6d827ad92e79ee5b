/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/metrics: histograms and classes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "front/account/metrics.h"
#include "front/util/envd.h"
#include "unit.h"

static void values_fall_into_the_first_bucket_that_holds_them(void **state)
{
	struct histogram h = { 0 };

	(void)state;
	histogram_add(&h, 0);
	histogram_add(&h, 500);
	histogram_add(&h, 501);
	histogram_add(&h, 10000000);
	histogram_add(&h, 10000001);
	assert_int_equal(h.n[0], 2);
	assert_int_equal(h.n[1], 1);
	assert_int_equal(h.n[HISTOGRAM_BUCKETS - 1], 1);
	assert_int_equal(h.n[HISTOGRAM_BUCKETS], 1);
	assert_int_equal(h.sum_us, 20001002);
}

static void bounds_grow(void **state)
{
	(void)state;
	for (size_t i = 1; i < HISTOGRAM_BUCKETS; i++)
		assert_true(histogram_bound(i) > histogram_bound(i - 1));
}

static void an_error_has_one_class(void **state)
{
	struct metrics *m = metrics_new();
	uint64_t n = 0;

	(void)state;
	metrics_error(m, 200, false);
	metrics_error(m, 302, false);
	for (int status = 400; status < 600; status++)
		metrics_error(m, status, false);
	metrics_error(m, 429, true);
	for (size_t i = 0; i < CLASSES; i++) {
		assert_true(m->errors[i] > 0);
		n += m->errors[i];
	}
	assert_int_equal(n, 201);
	assert_int_equal(m->errors[CLASS_RATE], 1);
	metrics_free(m);
}

static void outcomes(void **state)
{
	(void)state;
	assert_int_equal(outcome_of(204, false), OUTCOME_OK);
	assert_int_equal(outcome_of(429, false), OUTCOME_CLIENT_ERROR);
	assert_int_equal(outcome_of(502, false), OUTCOME_SERVER_ERROR);
	assert_int_equal(outcome_of(200, true), OUTCOME_LOST);
	assert_int_equal(port_kind(PORT_ENVD), PORT_KIND_ENVD);
	assert_int_equal(port_kind(3000), PORT_KIND_USER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_fall_into_the_first_bucket_that_holds_them),
		cmocka_unit_test(bounds_grow),
		cmocka_unit_test(an_error_has_one_class),
		cmocka_unit_test(outcomes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
