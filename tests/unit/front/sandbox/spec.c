/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/spec: bodies of POST /sandboxes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>

#include "front/account/accounts.h"
#include "front/link/links.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/spec.h"
#include "ipc/policy.h"
#include "store/db.h"
#include "unit.h"

static struct {
	struct links link;
	struct accounts account;
	struct sandboxes sandbox;
} f = { .link.opt = { .max_timeout_s = 86400, .domain = "" } };
static struct spec sp;
static struct err e;

static int set_up(void **state)
{
	static const struct msg_template base = { "base", "0123456789abcdef0123456789abcdef" };

	(void)state;
	f.sandbox.link = &f.link;
	f.sandbox.account = &f.account;
	if (store_open(":memory:", &f.link.store, &e) < 0)
		return -1;
	return templates_init(&f.sandbox.templates, &base, 1, &e);
}

static int parse(const char *text, enum spec_version ver)
{
	json_t *j = json_loads(text, 0, NULL);
	int r;

	assert_non_null(j);
	spec_done(&sp);
	r = spec_parse(&f.sandbox, "team", j, ver, &sp, &e);
	json_decref(j);
	return r;
}

static void defaults_depend_on_the_version(void **state)
{
	(void)state;
	assert_int_equal(parse("{\"templateID\":\"base\"}", SPEC_V1), 0);
	assert_int_equal(sp.timeout_s, 15);
	assert_int_equal(sp.flags, 0);
	assert_int_equal(parse("{\"templateID\":\"base\",\"secure\":true}", SPEC_V1), 0);
	assert_int_equal(sp.flags, SPEC_SECURE);
	assert_int_equal(parse("{\"templateID\":\"base\",\"secure\":false}", SPEC_V2), 0);
	assert_int_equal(sp.timeout_s, 300);
	assert_int_equal(sp.flags, SPEC_SECURE);
}

static void null_and_unknown_fields_are_ignored(void **state)
{
	(void)state;
	assert_int_equal(
	    parse("{\"templateID\":\"base\",\"timeout\":null,\"metadata\":null,\"envVars\":null,\"mcp\":{\"a\":1},"
		  "\"network\":null,\"autoResume\":null,\"iam\":{\"tokens\":{}},\"volumeMounts\":[],\"new\":[1]}",
		SPEC_V2),
	    0);
	assert_null(sp.metadata);
}

static void wrong_fields_are_named(void **state)
{
	static const char *const bad[][2] = {
		{ "templateID", "{}" },
		{ "templateID", "{\"templateID\":5}" },
		{ "templateID", "{\"templateID\":\"\"}" },
		{ "timeout", "{\"templateID\":\"base\",\"timeout\":0}" },
		{ "timeout", "{\"templateID\":\"base\",\"timeout\":-1}" },
		{ "timeout", "{\"templateID\":\"base\",\"timeout\":86401}" },
		{ "timeout", "{\"templateID\":\"base\",\"timeout\":\"60\"}" },
		{ "timeout", "{\"templateID\":\"base\",\"timeout\":1.5}" },
		{ "timeout", "{\"templateID\":\"base\",\"timeout\":1e12}" },
		{ "metadata", "{\"templateID\":\"base\",\"metadata\":{\"a\":1}}" },
		{ "metadata", "{\"templateID\":\"base\",\"metadata\":[]}" },
		{ "envVars", "{\"templateID\":\"base\",\"envVars\":\"A=1\"}" },
		{ "envVars", "{\"templateID\":\"base\",\"envVars\":{\"A=B\":\"x\"}}" },
		{ "envVars", "{\"templateID\":\"base\",\"envVars\":{\"\":\"x\"}}" },
		{ "autoPause", "{\"templateID\":\"base\",\"autoPause\":\"yes\"}" },
		{ "autoPauseMemory", "{\"templateID\":\"base\",\"autoPauseMemory\":false}" },
		{ "autoResume", "{\"templateID\":\"base\",\"autoResume\":{\"enabled\":1}}" },
		{ "volumeMounts", "{\"templateID\":\"base\",\"volumeMounts\":[{\"name\":\"a\",\"path\":\"/a\"}]}" },
		{ "iam.tokens",
		    "{\"templateID\":\"base\",\"iam\":{\"tokens\":{\"t\":{\"audience\":\"a\",\"tokenType\":\"jwt\"}}}"
		    "}" },
		{ "iam.tokens", "{\"templateID\":\"base\",\"iam\":{\"tokens\":[]}}" },
		{ "network.denyOut", "{\"templateID\":\"base\",\"network\":{\"denyOut\":[\"1.1.1.300\"]}}" },
		{ "network.allowOut", "{\"templateID\":\"base\",\"network\":{\"allowOut\":[\"a.com\"]}}" },
		{ "network.rules", "{\"templateID\":\"base\",\"network\":{\"rules\":{\"a\":[1]}}}" },
		{ "network.egressProxy",
		    "{\"templateID\":\"base\",\"network\":{\"egressProxy\":{\"address\":\"a\"}}}" },
		{ "network", "{\"templateID\":\"base\",\"network\":{\"allowPublicTraffic\":\"no\"}}" },
		{ "network.maskRequestHost",
		    "{\"templateID\":\"base\",\"network\":{\"maskRequestHost\":\"a\\r\\nb\"}}" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(parse(bad[i][1], SPEC_V2), -EINVAL);
		assert_non_null(strstr(e.text, bad[i][0]));
	}
	assert_int_equal(parse("{\"templateID\":\"nope\"}", SPEC_V2), -ENOENT);
}

static void internet_can_be_refused_in_two_ways(void **state)
{
	(void)state;
	assert_int_equal(parse("{\"templateID\":\"base\",\"allow_internet_access\":false}", SPEC_V2), 0);
	assert_int_equal(sp.flags & ~SPEC_SECURE, SPEC_NO_INTERNET | SPEC_INTERNET_ASKED | SPEC_INTERNET_FALSE);
	assert_int_equal(parse("{\"templateID\":\"base\",\"network\":{\"denyOut\":[\"0.0.0.0/0\"]}}", SPEC_V2), 0);
	assert_int_equal(sp.flags & ~SPEC_SECURE, SPEC_NO_INTERNET);
	assert_int_equal(parse("{\"templateID\":\"base\",\"allow_internet_access\":true}", SPEC_V2), 0);
	assert_int_equal(sp.flags & ~SPEC_SECURE, SPEC_INTERNET_ASKED);
}

static void private_traffic_needs_a_secure_sandbox(void **state)
{
	(void)state;
	assert_int_equal(parse("{\"templateID\":\"base\",\"network\":{\"allowPublicTraffic\":false}}", SPEC_V1),
	    -EINVAL);
	assert_int_equal(
	    parse("{\"templateID\":\"base\",\"secure\":true,\"network\":{\"allowPublicTraffic\":false}}", SPEC_V1), 0);
	assert_int_equal(sp.flags, SPEC_SECURE | SPEC_PRIVATE_TRAFFIC);
}

static void maps_are_bounded(void **state)
{
	json_t *body = json_pack("{s:s,s:{}}", "templateID", "base", "metadata");
	char key[16];

	(void)state;
	for (int i = 0; i < 300; i++) {
		(void)snprintf(key, sizeof key, "k%d", i);
		(void)json_object_set_new(json_object_get(body, "metadata"), key, json_string("v"));
	}
	spec_done(&sp);
	assert_int_equal(spec_parse(&f.sandbox, "team", body, SPEC_V2, &sp, &e), -EINVAL);
	assert_non_null(strstr(e.text, "metadata"));
	json_decref(body);
}

static void a_copy_has_no_secrets_unless_asked_for(void **state)
{
	struct spec copy;

	(void)state;
	assert_int_equal(
	    parse("{\"templateID\":\"base\",\"network\":{\"denyOut\":[\"0.0.0.0/0\"],\"allowOut\":[\"a.com\"],"
		  "\"rules\":{\"a.com\":[{\"transform\":{\"headers\":{\"x\":\"y\"}}}]},"
		  "\"egressProxy\":{\"address\":\"p.com:1\",\"username\":\"u\",\"password\":\"p\"}}}",
		SPEC_V2),
	    0);
	assert_int_equal(spec_copy(&sp, true, &copy, &e), 0);
	assert_true(json_equal(copy.network, sp.network));
	spec_done(&copy);
	assert_int_equal(spec_copy(&sp, false, &copy, &e), 0);
	char *text = json_dumps(copy.network, JSON_COMPACT | JSON_SORT_KEYS);

	assert_string_equal(text,
	    "{\"allowOut\":[\"a.com\"],\"denyOut\":[\"0.0.0.0/0\"],\"egressProxy\":{\"address\":\"p.com:1\"}}");
	free(text);
	assert_int_equal(copy.policy->flags & POLICY_SOCKS, POLICY_SOCKS);
	assert_false(policy_has_names(copy.policy, POLICY_REWRITE));
	assert_true(policy_has_names(sp.policy, POLICY_REWRITE));
	assert_string_equal(json_string_value(json_object_get(json_object_get(sp.network, "egressProxy"), "password")),
	    "p");
	spec_done(&copy);
}

static int tear_down(void **state)
{
	(void)state;
	spec_done(&sp);
	store_close(f.link.store);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_depend_on_the_version),
		cmocka_unit_test(null_and_unknown_fields_are_ignored),
		cmocka_unit_test(wrong_fields_are_named),
		cmocka_unit_test(internet_can_be_refused_in_two_ways),
		cmocka_unit_test(private_traffic_needs_a_secure_sandbox),
		cmocka_unit_test(maps_are_bounded),
		cmocka_unit_test(a_copy_has_no_secrets_unless_asked_for),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
