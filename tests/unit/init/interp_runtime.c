/* SPDX-License-Identifier: Apache-2.0 */
/* Units of init/interp_runtime: manifests and the names of languages. */
#include <stdint.h>
#include <stdlib.h>

#include <errno.h>

#include "base/fd.h"
#include "http/json.h"
#include "init/interp/runtime.h"
#include "unit.h"

static int match(const char *manifest, const char *language, struct runtime *ret)
{
	autojson json_t *m = json_loads(manifest, 0, NULL);

	return runtime_match(m, str_of(language), ret);
}

static void names_and_aliases_are_found_in_any_case(void **state)
{
	static const char node[] =
	    "{\"languages\":{\"javascript\":[\"js\"],\"typescript\":[\"ts\"]},\"argv\":[\"/usr/bin/node\",\"x\"]}";
	struct runtime rt = RUNTIME_INIT;

	(void)state;
	assert_int_equal(match(node, "TS", &rt), 1);
	assert_string_equal(rt.language, "typescript");
	assert_string_equal(rt.user, "root");
	assert_string_equal(rt.argv[0], "/usr/bin/node");
	assert_string_equal(rt.argv[1], "x");
	assert_null(rt.argv[2]);
	assert_false(rt.takes_env || rt.rehearses || rt.writes_apart);
	runtime_done(&rt);
	assert_int_equal(match("{\"languages\":{\"x\":[]},\"argv\":[\"x\"],\"takes_env\":true,\"rehearses\":true,"
			       "\"writes_apart\":true}",
			     "x", &rt),
	    1);
	assert_true(rt.takes_env && rt.rehearses && rt.writes_apart);
	runtime_done(&rt);
	assert_int_equal(match(node, "JavaScript", &rt), 1);
	runtime_done(&rt);
	assert_int_equal(match(node, "java", &rt), 0);
	assert_int_equal(match(node, "", &rt), 0);
}

static void malformed_manifests_run_nothing(void **state)
{
	static const char *const bad[] = {
		"{\"languages\":{\"x\":[]}}",
		"{\"languages\":{\"x\":[]},\"argv\":[]}",
		"{\"languages\":{\"x\":[]},\"argv\":[1]}",
		"{\"languages\":{\"x\":5},\"argv\":\"/bin/x\"}",
	};
	struct runtime rt = RUNTIME_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(match(bad[i], "x", &rt), -EINVAL);
	assert_int_equal(match("{}", "x", &rt), 0);
	assert_int_equal(match("{\"languages\":[\"x\"]}", "x", &rt), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_aliases_are_found_in_any_case),
		cmocka_unit_test(malformed_manifests_run_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
