/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/list_query: filters, order and cursor of the list. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>

#include "front/api/list_query.h"
#include "front/sandbox/sandbox.h"
#include "unit.h"

static struct list_query q;
static struct err e;

static int parse(const char *query)
{
	list_query_done(&q);
	return list_query_parse(str_of(query), &q, &e);
}

static void defaults(void **state)
{
	(void)state;
	assert_int_equal(parse(""), 0);
	assert_true(q.running && q.paused && !q.ascending && !q.has_cursor);
	assert_int_equal(q.limit, 100);
	assert_int_equal(q.n_pairs, 0);
}

static void metadata_is_decoded_three_times(void **state)
{
	(void)state;
	assert_int_equal(parse("metadata=tag%3Dt1%26n%3D1"), 0);
	assert_int_equal(q.n_pairs, 2);
	assert_string_equal(q.pairs[0].name, "tag");
	assert_string_equal(q.pairs[0].value, "t1");
	assert_string_equal(q.pairs[1].name, "n");
	/* {a: "b&c"} as the JavaScript client sends it */
	assert_int_equal(parse("metadata=a%3Db%252526c"), 0);
	assert_int_equal(q.n_pairs, 1);
	assert_string_equal(q.pairs[0].value, "b&c");
	assert_int_equal(parse("metadata=a%3D%25zz"), -EINVAL);
}

static void malformed_parameters_are_named(void **state)
{
	static const char *const bad[][2] = {
		{ "limit=0", "limit" },
		{ "limit=101", "limit" },
		{ "limit=x", "limit" },
		{ "state=dead", "state" },
		{ "state=running,", "state" },
		{ "order=up", "order" },
		{ "nextToken=zzz", "Invalid next token" },
		{ "startedAfter=yesterday", "startedAfter" },
		{ "template=%zz", "template" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(parse(bad[i][0]), -EINVAL);
		assert_non_null(strstr(e.text, bad[i][1]));
	}
}

static void states_are_a_list(void **state)
{
	(void)state;
	assert_int_equal(parse("state=paused"), 0);
	assert_true(q.paused && !q.running);
	assert_int_equal(parse("state=running%2Cpaused"), 0);
	assert_true(q.paused && q.running);
}

static void order_is_newest_first_then_by_id(void **state)
{
	(void)state;
	assert_int_equal(parse(""), 0);
	assert_true(list_query_compare(&q, 2, "a", 1, "b") < 0);
	assert_true(list_query_compare(&q, 1, "a", 1, "b") < 0);
	assert_int_equal(parse("order=asc"), 0);
	assert_true(list_query_compare(&q, 2, "a", 1, "b") > 0);
	assert_true(list_query_compare(&q, 1, "a", 1, "b") > 0);
}

static void cursor_is_bound_to_the_order(void **state)
{
	char query[200];

	(void)state;
	assert_int_equal(parse("order=desc"), 0);

	char *cursor = list_query_cursor(&q, 5000, "iabc");

	(void)snprintf(query, sizeof query, "nextToken=%s", cursor);
	assert_int_equal(parse(query), 0);
	assert_true(list_query_is_behind_cursor(&q, 4999, "iabc"));
	assert_true(list_query_is_behind_cursor(&q, 5000, "iabd"));
	assert_false(list_query_is_behind_cursor(&q, 5000, "iabc"));
	assert_false(list_query_is_behind_cursor(&q, 5001, "iabc"));
	(void)snprintf(query, sizeof query, "order=asc&nextToken=%s", cursor);
	assert_int_equal(parse(query), -EINVAL);
	assert_string_equal(e.text, "Invalid next token");
	free(cursor);
}

static void a_sandbox_must_match_all_of_it(void **state)
{
	struct sandbox sb = { .started_us = 1700000000123456 };

	(void)state;
	sb.spec.metadata = json_pack("{s:s,s:s}", "a", "1", "b", "2");
	strcpy(sb.spec.tpl.name, "base");
	strcpy(sb.spec.tpl.id, "t0");
	assert_int_equal(parse("metadata=a%3D1&template=base"), 0);
	assert_true(list_query_wants(&q, &sb));
	assert_int_equal(parse("metadata=a%3D1%26b%3D3"), 0);
	assert_false(list_query_wants(&q, &sb));
	assert_int_equal(parse("template=t0"), 0);
	assert_true(list_query_wants(&q, &sb));
	assert_int_equal(parse("template=other"), 0);
	assert_false(list_query_wants(&q, &sb));
	assert_int_equal(parse("startedAfter=2023-11-14T22:13:20.123456Z"), 0);
	assert_true(list_query_wants(&q, &sb)); /* inclusive */
	assert_int_equal(parse("startedAfter=2023-11-14T22:13:20.123457Z"), 0);
	assert_false(list_query_wants(&q, &sb));
	json_decref(sb.spec.metadata);
}

static int tear_down(void **state)
{
	(void)state;
	list_query_done(&q);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(metadata_is_decoded_three_times),
		cmocka_unit_test(malformed_parameters_are_named),
		cmocka_unit_test(states_are_a_list),
		cmocka_unit_test(order_is_newest_first_then_by_id),
		cmocka_unit_test(cursor_is_bound_to_the_order),
		cmocka_unit_test(a_sandbox_must_match_all_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, tear_down);
}
