/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/expiry: the heap of deadlines. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "front/util/expiry.h"
#include "unit.h"

#define N 500

static void entries_come_out_in_order(void **state)
{
	static struct expiry_entry en[N];
	struct expiry_heap h = { 0 };
	uint64_t last = 0;
	size_t n = 0;

	(void)state;
	srand(7);
	for (size_t i = 0; i < N; i++)
		expiry_heap_put(&h, &en[i], (uint64_t)rand() % 1000);
	for (size_t i = 0; i < N; i += 3)
		expiry_heap_put(&h, &en[i], (uint64_t)rand() % 1000); /* moved */
	for (size_t i = 1; i < N; i += 5)
		expiry_heap_drop(&h, &en[i]);
	for (struct expiry_entry *e; (e = expiry_heap_first(&h)); n++) {
		assert_true(e->at_ms >= last);
		last = e->at_ms;
		expiry_heap_drop(&h, e);
		assert_int_equal(e->pos, 0);
	}
	assert_int_equal(n, N - N / 5);
	free(h.v);
}

static void dropping_what_is_not_there_is_fine(void **state)
{
	struct expiry_heap h = { 0 };
	struct expiry_entry en = { 0 };

	(void)state;
	expiry_heap_drop(&h, &en);
	assert_null(expiry_heap_first(&h));
	expiry_heap_put(&h, &en, 5);
	expiry_heap_drop(&h, &en);
	expiry_heap_drop(&h, &en);
	assert_null(expiry_heap_first(&h));
	free(h.v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_come_out_in_order),
		cmocka_unit_test(dropping_what_is_not_there_is_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
