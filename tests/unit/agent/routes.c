/* SPDX-License-Identifier: Apache-2.0 */
/* Units of agent/routes: exact matches only. */
#include <stdint.h>

#include "agent/routes.h"
#include "unit.h"

static const struct route *find(const char *method, const char *path, char allow[64])
{
	autobuf struct buf b = BUF_INIT(64);
	struct str param;
	const struct route *r = agent_route_find(str_of(method), str_of(path), &param, &b);

	allow[0] = '\0';
	(void)str_copy(allow, 64, buf_view(&b));
	return r;
}

static void paths_match_whole_or_not_at_all(void **state)
{
	char allow[64];

	(void)state;
	assert_non_null(find("GET", "/agent/health", allow));
	assert_non_null(find("HEAD", "/agent/health", allow));
	assert_null(find("GET", "/agent/health/", allow));
	assert_null(find("GET", "/agent/healthy", allow));
	assert_null(find("GET", "/agent", allow));
	assert_null(find("GET", "", allow));
	assert_null(find("POST", "/agent/health", allow));
	assert_string_equal(allow, "GET");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_match_whole_or_not_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
