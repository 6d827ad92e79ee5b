/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/routes: the table of the control API. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "front/routes.h"

static struct str param;
static struct buf allow;

static const struct route *find(const char *method, const char *path)
{
	buf_done(&allow);
	allow = BUF_INIT(256);
	param = STR_NULL;
	return route_find(str_of(method), str_of(path), &param, &allow);
}

static void paths_match_whole(void **state)
{
	(void)state;
	assert_non_null(find("POST", "/sandboxes"));
	assert_null(find("POST", "/sandboxesX"));
	assert_null(find("POST", "/sandboxes/"));
	assert_null(find("POST", "/sandbox"));
	assert_null(find("POST", ""));
	assert_null(find("POST", "/"));
	assert_null(find("GET", "/sandboxes/a/b/c"));
	assert_int_equal(allow.n, 0);
}

static void a_segment_is_given_raw(void **state)
{
	(void)state;
	assert_non_null(find("GET", "/templates/aliases/team%2Fname"));
	assert_true(str_is(param, "team%2Fname"));
	assert_non_null(find("POST", "/v2/sandboxes/iabc/connect"));
	assert_true(str_is(param, "iabc"));
}

static void a_wrong_method_lists_the_right_ones(void **state)
{
	(void)state;
	assert_null(find("DELETE", "/sandboxes"));
	assert_string_equal(buf_cstr(&allow), "GET, POST");
}

static void head_is_get(void **state)
{
	(void)state;
	assert_non_null(find("HEAD", "/health"));
}

static int tear_down(void **state)
{
	(void)state;
	buf_done(&allow);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_match_whole),
		cmocka_unit_test(a_segment_is_given_raw),
		cmocka_unit_test(a_wrong_method_lists_the_right_ones),
		cmocka_unit_test(head_is_get),
	};

	return cmocka_run_group_tests(tests, NULL, tear_down);
}
