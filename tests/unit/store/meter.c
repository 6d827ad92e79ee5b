/* SPDX-License-Identifier: Apache-2.0 */
/* Units of store/meter: what is added to a day, and what is read of it. */
#include "store/meter.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "unit.h"

static char seen[512];

static void look(void *user, const struct meter_row *r)
{
	size_t n = strlen(seen);

	(void)user;
	(void)snprintf(seen + n, sizeof seen - n, "%s@%llu=%s/%s/%s,%s,%llu,%llu,%llu;", r->sandbox,
	    (unsigned long long)r->day, r->team, r->key, r->template, r->metadata ? r->metadata : "-",
	    (unsigned long long)r->running_ms, (unsigned long long)r->cpu_permille_ms, (unsigned long long)r->mib_ms);
}

static const char *each(const char *team, uint64_t first, uint64_t last, size_t max)
{
	seen[0] = '\0';
	assert_int_equal(meter_each(s, team, first, last, max, look, NULL, &e), 0);
	return seen;
}

static void add(const char *sandbox, const char *team, uint64_t day, uint64_t ms, uint64_t until_ms)
{
	struct meter_row row = { sandbox, team, "k", "base", day % 2 ? "{\"a\":\"b\"}" : NULL, day, ms, 2000 * ms,
		512 * ms, until_ms, 0 };

	assert_int_equal(meter_add(s, &row, &e), 1);
}

static void a_day_adds_up(void **state)
{
	uint64_t until = 0;

	(void)state;
	assert_int_equal(meter_last(s, "i1", &until, &e), 0);
	add("i1", "t1", 1, 0, 100);
	add("i1", "t1", 1, 10, 110);
	add("i1", "t1", 1, 5, 115);
	assert_string_equal(each("t1", 0, 9, 9), "i1@1=t1/k/base,{\"a\":\"b\"},15,30000,7680;");
	add("i1", "t1", 2, 1, 200);
	assert_int_equal(meter_last(s, "i1", &until, &e), 1);
	assert_int_equal(until, 200);
}

static void what_was_sent_goes_to_the_last_day(void **state)
{
	struct meter_row row = { .sandbox = "i1",
		.team = "t1",
		.key = "k",
		.template = "base",
		.day = 1,
		.sent_bytes = 100 };
	uint64_t sent = 7;

	(void)state;
	assert_int_equal(meter_sent_total(s, "i1", &sent, &e), 0);
	assert_int_equal(sent, 0);
	assert_int_equal(meter_add_sent(s, "i1", 5, &e), 0); /* nobody's */
	assert_int_equal(meter_add(s, &row, &e), 1);
	assert_int_equal(meter_add(s, &row, &e), 1);
	row.day = 2;
	assert_int_equal(meter_add(s, &row, &e), 1);
	assert_int_equal(meter_add_sent(s, "i1", 5, &e), 1);
	assert_int_equal(meter_sent_total(s, "i1", &sent, &e), 0);
	assert_int_equal(sent, 305);
	assert_int_equal(meter_prune(s, 2, &e), 1);
	assert_int_equal(meter_sent_total(s, "i1", &sent, &e), 0);
	assert_int_equal(sent, 105);
}

static void rows_are_found_by_team_and_day(void **state)
{
	(void)state;
	add("i2", "t2", 2, 1, 1);
	add("i1", "t1", 4, 2, 1);
	add("i1", "t1", 2, 3, 1);
	assert_string_equal(each(NULL, 0, 9, 9),
	    "i1@2=t1/k/base,-,3,6000,1536;i1@4=t1/k/base,-,2,4000,1024;i2@2=t2/k/base,-,1,2000,512;");
	assert_string_equal(each("t2", 0, 9, 9), "i2@2=t2/k/base,-,1,2000,512;");
	assert_string_equal(each("t1", 3, 9, 9), "i1@4=t1/k/base,-,2,4000,1024;");
	assert_string_equal(each("t3", 0, 9, 9), "");
	assert_string_equal(each(NULL, 0, 9, 1), "i1@2=t1/k/base,-,3,6000,1536;");
	assert_int_equal(meter_prune(s, 4, &e), 2);
	assert_string_equal(each(NULL, 0, 9, 9), "i1@4=t1/k/base,-,2,4000,1024;");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_day_adds_up, open_new, remove_it),
		cmocka_unit_test_setup_teardown(what_was_sent_goes_to_the_last_day, open_new, remove_it),
		cmocka_unit_test_setup_teardown(rows_are_found_by_team_and_day, open_new, remove_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
