/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/routes: the table of the control API. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "front/api/routes.h"
#include "unit.h"

static struct str params[HTTP_ROUTE_PARAMS];
static struct buf allow;

static const struct route *find(const char *method, const char *path)
{
	buf_done(&allow);
	allow = BUF_INIT(256);
	params[0] = params[1] = STR_NULL;
	return route_find(str_of(method), str_of(path), params, &allow);
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
	assert_true(str_is(params[0], "team%2Fname"));
	assert_non_null(find("POST", "/v2/sandboxes/iabc/connect"));
	assert_true(str_is(params[0], "iabc"));
	assert_non_null(find("DELETE", "/admin/teams/t%20x/api-keys/k1"));
	assert_true(str_is(params[0], "t%20x"));
	assert_true(str_is(params[1], "k1"));
}

static void a_wrong_method_lists_the_right_ones(void **state)
{
	(void)state;
	assert_null(find("DELETE", "/sandboxes"));
	assert_string_equal(buf_cstr(&allow), "GET, POST");
}

static void fixed_names_win(void **state)
{
	const struct route *r;

	(void)state;
	r = find("GET", "/sandboxes/metrics");
	assert_string_equal(r->on.pattern, "/sandboxes/metrics");
	r = find("GET", "/sandboxes/iabc");
	assert_string_equal(r->on.pattern, "/sandboxes/{id}");
	r = find("GET", "/admin/sandboxes/running-counts");
	assert_string_equal(r->on.pattern, "/admin/sandboxes/running-counts");
}

/* ... and the addresses that files are sent to, which are signed; and what logs in to the console. */
static void only_health_is_open(void **state)
{
	size_t open = 0;

	(void)state;
	for (size_t i = 0; route_at(i); i++) {
		const struct route *r = route_at(i);

		assert_int_equal(route_index(r), i);
		open += r->access == ACCESS_OPEN;
		if (strncmp(r->on.pattern, "/admin/", 7) == 0 || strcmp(r->on.pattern, "/nodes") == 0)
			assert_int_equal(r->access, ACCESS_ADMIN);
	}
	assert_int_equal(open, 8);
	assert_int_equal(find("PUT", "/templates/x/files/y")->access, ACCESS_OPEN);
}

static void a_viewer_changes_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; route_at(i); i++) {
		if (strcmp(route_at(i)->on.method, "GET") != 0)
			assert_false(route_for_viewer(route_at(i)));
	}
	assert_true(route_for_viewer(find("GET", "/v2/sandboxes")));
	/* it gives an address to which an archive can be sent */
	assert_false(route_for_viewer(find("GET", "/templates/x/files/y")));
	/* it may hold tokens of sandboxes */
	assert_false(route_for_viewer(find("GET", "/agent/sessions")));
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
		cmocka_unit_test(fixed_names_win),
		cmocka_unit_test(only_health_is_open),
		cmocka_unit_test(a_viewer_changes_nothing),
		cmocka_unit_test(head_is_get),
	};

	return cmocka_run_group_tests(tests, NULL, tear_down);
}
