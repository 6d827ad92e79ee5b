/* SPDX-License-Identifier: Apache-2.0 */
/* Units of http/route: whole paths, parameters, methods that a path allows. */
#include <stdint.h>

#include "http/route.h"
#include "unit.h"

struct entry {
	struct http_route on;
	int number; /* entries are larger than their first member */
	char more[20];
};

static const struct entry table[] = {
	{ { "GET", "/things" }, 0 },
	{ { "POST", "/things" }, 1 },
	{ { "GET", "/things/fixed" }, 2 },
	{ { "GET", "/things/{id}" }, 3 },
	{ { "DELETE", "/things/{id}" }, 4 },
	{ { "PUT", "/things/{id}/parts/{part}" }, 5 },
	{ { "GET", "/below/{*}" }, 6 },
	{ { "GET", "/" }, 7 },
};

static struct str params[HTTP_ROUTE_PARAMS];
static char allow[64];

static ptrdiff_t find(const char *method, const char *path)
{
	autobuf struct buf b = BUF_INIT(sizeof allow);

	params[0] = params[1] = STR_LIT("untouched");
	ptrdiff_t i = http_route_find(HTTP_ROUTES(table), str_of(method), str_of(path), params, &b);

	(void)str_copy(allow, sizeof allow, buf_view(&b));
	if (i >= 0)
		assert_int_equal(table[i].number, i);
	return i;
}

static void a_path_matches_whole_or_not_at_all(void **state)
{
	(void)state;
	assert_int_equal(find("GET", "/things"), 0);
	assert_int_equal(find("GET", "/"), 7);
	assert_int_equal(find("GET", "/things/"), -1);
	assert_int_equal(find("GET", "/thing"), -1);
	assert_int_equal(find("GET", "/thingsx"), -1);
	assert_int_equal(find("GET", "things"), -1);
	assert_int_equal(find("GET", "//things"), -1);
	assert_int_equal(find("GET", ""), -1);
	assert_string_equal(allow, "");
	assert_int_equal(http_route_find(HTTP_ROUTES(table), STR_LIT("GET"), STR_NULL, params, &BUF_INIT(8)), -1);
}

static void a_byte_zero_does_not_end_a_path(void **state)
{
	autobuf struct buf b = BUF_INIT(64);

	(void)state;
	assert_int_equal(http_route_find(HTTP_ROUTES(table), STR_LIT("GET"), STR_LIT("/things\0x"), params, &b), -1);
	assert_int_equal(http_route_find(HTTP_ROUTES(table), STR_LIT("GET"), STR_LIT("/things\0"), params, &b), -1);
}

static void a_parameter_is_one_segment_that_is_not_empty(void **state)
{
	(void)state;
	assert_int_equal(find("GET", "/things/a%2Fb"), 3);
	assert_true(str_is(params[0], "a%2Fb"));
	assert_null(params[1].p);
	assert_int_equal(find("PUT", "/things/x/parts/y"), 5);
	assert_true(str_is(params[0], "x"));
	assert_true(str_is(params[1], "y"));
	assert_int_equal(find("PUT", "/things//parts/y"), -1);
	assert_int_equal(find("PUT", "/things/x/parts/"), -1);
	assert_int_equal(find("PUT", "/things/x/parts/y/"), -1);
	assert_int_equal(find("PUT", "/things/x/y/parts/z"), -1);
	assert_true(str_is(params[0], "untouched"));
	assert_int_equal(find("GET", "/things/{id}"), 3); /* braces in a path are a name like any other */
}

static void the_first_that_fits_counts(void **state)
{
	(void)state;
	assert_int_equal(find("GET", "/things/fixed"), 2);
	assert_int_equal(find("DELETE", "/things/fixed"), 4);
	assert_true(str_is(params[0], "fixed"));
}

static void all_that_is_left_is_no_parameter(void **state)
{
	(void)state;
	assert_int_equal(find("GET", "/below/a"), 6);
	assert_int_equal(find("GET", "/below/a/b//c/"), 6);
	assert_null(params[0].p);
	assert_int_equal(find("GET", "/below/"), -1);
	assert_int_equal(find("GET", "/below//a"), -1);
	assert_int_equal(find("GET", "/below"), -1);
}

static void another_method_is_told_which_there_are(void **state)
{
	(void)state;
	assert_int_equal(find("PATCH", "/things"), -1);
	assert_string_equal(allow, "GET, POST");
	assert_int_equal(find("PATCH", "/things/fixed"), -1);
	assert_string_equal(allow, "GET, GET, DELETE");
	assert_int_equal(find("get", "/things"), -1);
	assert_string_equal(allow, "GET, POST");
	assert_int_equal(find("HEAD", "/below/x"), -1);
	assert_string_equal(allow, "GET");
}

static void head_is_a_get(void **state)
{
	(void)state;
	assert_true(str_is(http_route_method(STR_LIT("HEAD")), "GET"));
	assert_true(str_is(http_route_method(STR_LIT("POST")), "POST"));
	assert_true(str_is(http_route_method(STR_LIT("HEADER")), "HEADER"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_matches_whole_or_not_at_all),
		cmocka_unit_test(a_byte_zero_does_not_end_a_path),
		cmocka_unit_test(a_parameter_is_one_segment_that_is_not_empty),
		cmocka_unit_test(the_first_that_fits_counts),
		cmocka_unit_test(all_that_is_left_is_no_parameter),
		cmocka_unit_test(another_method_is_told_which_there_are),
		cmocka_unit_test(head_is_a_get),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
