/* SPDX-License-Identifier: Apache-2.0 */
/* client: what is refused before any call, and errors made of answers. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "client/client.h"
#include "unit.h"

static int try_new(const char *url, const char *key, struct atoll_error *e)
{
	struct atoll_config cfg = { .api_url = url, .api_key = key, .state_dir = "/nonexistent", .no_env = true };
	struct atoll *a = NULL;
	int rc = atoll_new(&cfg, &a, e);

	if (rc == 0)
		atoll_free(a);
	return rc;
}

static void bad_settings_are_refused(void **state)
{
	struct atoll_error e;

	(void)state;
	assert_int_equal(try_new("http://127.0.0.1:3000/", "e2b_00", &e), 0);
	assert_int_equal(try_new("ftp://127.0.0.1", "e2b_00", &e), -EINVAL);
	assert_non_null(strstr(e.text, "'ftp://127.0.0.1'"));
	assert_int_equal(try_new("http://a b", "e2b_00", &e), -EINVAL);
	assert_int_equal(try_new("http://a", "", &e), -EINVAL);
	assert_int_equal(try_new("http://a", "x\r\nX-Evil: 1", &e), -EINVAL);
	assert_int_equal(try_new("http://a", NULL, &e), -EINVAL);
	assert_non_null(strstr(e.text, "E2B_API_KEY"));
}

static void refusals_carry_the_servers_reason(void **state)
{
	struct atoll_error e;

	(void)state;
	assert_int_equal(client_refused(&e, 404, STR_LIT("{\"code\":404,\"message\":\"template 'x' not found\"}")),
	    -ENOENT);
	assert_string_equal(e.text, "template 'x' not found (404)");
	assert_int_equal(client_refused(&e, 507, STR_LIT("<html>")), -ENOSPC);
	assert_string_equal(e.text, "the server returned status 507");
	assert_int_equal(client_refused(&e, 401, STR_NULL), -EACCES);
	assert_int_equal(e.status, 401);
	assert_string_equal(e.text, "the server returned status 401");
	assert_int_equal(client_refused(&e, 401, STR_LIT("{\"message\":\"invalid username: 'x'\"}")), -EACCES);
	assert_string_equal(e.text, "invalid username: 'x' (401)");
}

static void foreign_text_cannot_steer_a_terminal(void **state)
{
	struct atoll_error e;

	(void)state;
	assert_int_equal(client_refused(&e, 400, STR_LIT("{\"message\":\"a\\u001b[2Jb\\nc\"}")), -EINVAL);
	assert_string_equal(e.text, "a?[2Jb c (400)");
}

static void long_text_is_cut(void **state)
{
	struct atoll_error e;
	char text[2000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(client_fail(&e, EIO, 0, "%s", text), -EIO);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
}

static void pairs_become_an_object(void **state)
{
	struct atoll_pair v[] = { { "A", "1" }, { "B", "x=y" } }, bad[] = { { "A", "\xff" } };
	struct atoll_error e;
	json_t *j = NULL;

	(void)state;
	assert_int_equal(client_pairs_json(v, 2, &j, &e), 0);
	assert_string_equal(json_string_value(json_object_get(j, "B")), "x=y");
	json_decref(j);
	assert_int_equal(client_pairs_json(bad, 1, &j, &e), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_settings_are_refused),
		cmocka_unit_test(refusals_carry_the_servers_reason),
		cmocka_unit_test(foreign_text_cannot_steer_a_terminal),
		cmocka_unit_test(long_text_is_cut),
		cmocka_unit_test(pairs_become_an_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
