/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/penalty: wrong keys wait. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "front/account/penalty.h"
#include "unit.h"

static struct penalty_addr addr(const char *text)
{
	struct sockaddr_storage s = { 0 };
	struct penalty_addr a;

	if (strchr(text, ':')) {
		s.ss_family = AF_INET6;
		assert_int_equal(inet_pton(AF_INET6, text, &((struct sockaddr_in6 *)&s)->sin6_addr), 1);
	} else {
		s.ss_family = AF_INET;
		assert_int_equal(inet_pton(AF_INET, text, &((struct sockaddr_in *)&s)->sin_addr), 1);
	}
	penalty_addr(&s, &a);
	return a;
}

static void a_few_mistakes_are_free_then_it_takes_longer(void **state)
{
	struct penalties *p = penalties_new();
	struct penalty_addr a = addr("192.0.2.1"), other = addr("192.0.2.2");
	int last = 0;

	(void)state;
	for (int i = 0; i < PENALTY_FREE; i++)
		assert_int_equal(penalty_wrong(p, &a, 1000), 0);
	for (int i = 0; i < 10; i++) {
		int ms = penalty_wrong(p, &a, 1000);

		assert_true(ms >= last && ms > 0 && ms <= PENALTY_MAX_MS);
		last = ms;
		penalty_over(p, &a);
	}
	assert_int_equal(last, PENALTY_MAX_MS);
	assert_int_equal(penalty_wrong(p, &other, 1000), 0);
	penalties_free(p);
}

static void quiet_addresses_are_forgiven(void **state)
{
	struct penalties *p = penalties_new();
	struct penalty_addr a = addr("192.0.2.1");

	(void)state;
	for (int i = 0; i < 20; i++)
		(void)penalty_wrong(p, &a, 1000);
	assert_int_equal(penalty_wrong(p, &a, 1000 + 61000), 0);
	penalties_free(p);
}

static void only_so_many_wait_at_once(void **state)
{
	struct penalties *p = penalties_new();
	struct penalty_addr a = addr("192.0.2.1");
	int held = 0;

	(void)state;
	for (int i = 0; i < 100; i++)
		held += penalty_wrong(p, &a, 1000) > 0;
	assert_int_equal(held, PENALTY_WAITING_MAX);
	penalty_over(p, &a);
	assert_true(penalty_wrong(p, &a, 1000) > 0);
	assert_int_equal(penalty_wrong(p, &a, 1000), -1);
	penalties_free(p);
}

static void a_network_counts_as_one_address(void **state)
{
	struct penalty_addr a = addr("2001:db8::1"), b = addr("2001:db8::ffff:2"), c = addr("2001:db8:0:1::1");
	struct penalty_addr v4 = addr("192.0.2.1"), mapped = addr("::ffff:192.0.2.1");

	(void)state;
	assert_memory_equal(&a, &b, sizeof a);
	assert_memory_not_equal(&a, &c, sizeof a);
	assert_memory_equal(&v4, &mapped, sizeof v4);
}

static void many_addresses_take_no_more_room(void **state)
{
	struct penalties *p = penalties_new();

	(void)state;
	for (uint32_t i = 0; i < 100000; i++) {
		struct penalty_addr a = {
			.bytes = { [12] = (uint8_t)(i >> 16), [13] = (uint8_t)(i >> 8), [14] = (uint8_t)i }
		};

		assert_int_equal(penalty_wrong(p, &a, 1000 + i), 0);
		penalty_over(p, &a);
	}
	penalties_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_few_mistakes_are_free_then_it_takes_longer),
		cmocka_unit_test(quiet_addresses_are_forgiven),
		cmocka_unit_test(only_so_many_wait_at_once),
		cmocka_unit_test(a_network_counts_as_one_address),
		cmocka_unit_test(many_addresses_take_no_more_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
