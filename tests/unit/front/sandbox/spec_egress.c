/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/spec_egress: allow and deny lists. */
#include <stdint.h>

#include <errno.h>
#include <string.h>

#include "front/sandbox/spec_egress.h"
#include "ipc/policy.h"
#include "unit.h"

static struct err e;
static struct policy *p;
static bool silent;

static int parse(const char *text, bool no_internet)
{
	json_t *network = json_loads(text, 0, NULL);

	policy_free(p);
	p = NULL;
	e = ERR_INIT;
	int r = spec_egress(network, no_internet, &p, &silent, &e);

	json_decref(network);
	return r;
}

static void plain_sandboxes_have_no_policy(void **state)
{
	(void)state;
	assert_int_equal(parse("{}", false), 0);
	assert_true(!p && !silent);
	assert_int_equal(parse("{\"allowOut\":[],\"denyOut\":null}", false), 0);
	assert_true(!p && !silent);
	assert_int_equal(parse("{\"denyOut\":[\"0.0.0.0/0\"]}", false), 0);
	assert_true(!p && silent);
	assert_int_equal(parse("{\"denyOut\":[\"1.1.1.1\"]}", true), 0);
	assert_true(!p && silent);
	assert_int_equal(parse("{\"denyOut\":[\"::/0\"],\"allowOut\":[\"2001:db8::1\"]}", false), 0);
	assert_true(!p && !silent);
}

static void allow_beats_deny(void **state)
{
	(void)state;
	assert_int_equal(parse("{\"denyOut\":[\"0.0.0.0/0\"],\"allowOut\":[\"1.1.1.1\",\"8.8.8.8/24\"]}", false), 0);
	assert_false(silent);
	assert_int_equal(p->flags, POLICY_DENY_ALL);
	assert_int_equal(p->n_nets, 2);
	assert_int_equal(policy_net_verdict(p, 0x01010101, 443), 1);
	assert_int_equal(policy_net_verdict(p, 0x08080801, 443), 1);
	assert_int_equal(policy_net_verdict(p, 0x02020202, 443), -1);
	/* allow_internet_access: false is a denyOut of all */
	assert_int_equal(parse("{\"allowOut\":[\"1.1.1.1\"]}", true), 0);
	assert_int_equal(p->flags, POLICY_DENY_ALL);
	/* all allowed: nothing is left to say */
	assert_int_equal(
	    parse("{\"denyOut\":[\"0.0.0.0/0\",\"1.1.1.1\"],\"allowOut\":[\"0.0.0.0/0\",\"8.8.8.8\"]}", true), 0);
	assert_true(!p && !silent);
}

static void ports_narrow_an_entry(void **state)
{
	(void)state;
	assert_int_equal(parse("{\"denyOut\":[\"0.0.0.0/0:25\",\"9.9.9.0/24:80-90\"]}", false), 0);
	assert_int_equal(p->n_nets, 2);
	assert_int_equal(p->flags, 0);
	assert_int_equal(policy_net_verdict(p, 0x01010101, 25), -1);
	assert_int_equal(policy_net_verdict(p, 0x01010101, 26), 0);
	assert_int_equal(policy_net_verdict(p, 0x09090909, 85), -1);
}

static void names_need_a_denial_of_all_else(void **state)
{
	(void)state;
	assert_int_equal(parse("{\"allowOut\":[\"a.com\"]}", false), -EINVAL);
	assert_non_null(strstr(e.text, "network.denyOut"));
	assert_int_equal(parse("{\"allowOut\":[\"a.com\"],\"denyOut\":[\"1.1.1.1\"]}", false), -EINVAL);
	assert_int_equal(
	    parse("{\"allowOut\":[\"A.com.\",\"*.B.org:8443\",\"1.1.1.1\"],\"denyOut\":[\"0.0.0.0/0\"]}", false), 0);
	assert_int_equal(p->flags, POLICY_DENY_ALL);
	assert_false(silent);
	assert_int_equal(p->n_nets, 1);
	assert_int_equal(p->n_names, 3);
	assert_true(policy_name_find(p, POLICY_ALLOW, STR_LIT("a.com"), 80));
	assert_true(policy_name_find(p, POLICY_ALLOW, STR_LIT("a.com"), 443));
	assert_false(policy_name_find(p, POLICY_ALLOW, STR_LIT("a.com"), 8443));
	assert_true(policy_name_find(p, POLICY_ALLOW, STR_LIT("x.b.org"), 8443));
	assert_false(policy_name_find(p, POLICY_ALLOW, STR_LIT("x.b.org"), 443));
	assert_int_equal(parse("{\"allowOut\":[\"a.com\"]}", true), 0);
	assert_int_equal(p->n_names, 2);
	assert_int_equal(parse("{\"allowOut\":[\"a.com\",\"0.0.0.0/0\"],\"denyOut\":[\"0.0.0.0/0\"]}", false), 0);
	assert_true(!p && !silent);
}

static void dns_servers_are_open_where_names_rule(void **state)
{
	(void)state;
	assert_int_equal(
	    parse("{\"denyOut\":[\"0.0.0.0/0\"],\"allowOut\":[\"a.example\"],\"dnsServers\":[\"1.1.1.1\"]}", false), 0);
	assert_int_equal(p->n_nets, 1);
	assert_int_equal(policy_net_verdict(p, 0x01010101, 53), 1);
	assert_int_equal(policy_net_verdict(p, 0x01010102, 53), -1);
	/* without names they mean nothing */
	assert_int_equal(parse("{\"denyOut\":[\"0.0.0.0/0\"],\"dnsServers\":[\"1.1.1.1\"]}", false), 0);
	assert_true(!p && silent);
	assert_int_equal(
	    parse("{\"denyOut\":[\"0.0.0.0/0\"],\"allowOut\":[\"2.2.2.2\"],\"dnsServers\":[\"1.1.1.1\"]}", false), 0);
	assert_int_equal(policy_net_verdict(p, 0x01010101, 53), -1);
	assert_int_equal(parse("{\"dnsServers\":[]}", false), 0);
	assert_true(!p && !silent);
}

static void bad_entries_are_named(void **state)
{
	static const char *const bad[][2] = {
		{ "network.denyOut[1]", "{\"denyOut\":[\"1.1.1.1\",\"1.1.1.1/33\"]}" },
		{ "network.denyOut[0]", "{\"denyOut\":[\"\"]}" },
		{ "network.denyOut[0]", "{\"denyOut\":[\"a.com\"]}" },
		{ "network.denyOut[0]", "{\"denyOut\":[\"0.0.0.0\"]}" },
		{ "network.denyOut[0]", "{\"denyOut\":[\"0.0.0.0/8\"]}" },
		{ "network.denyOut[0]", "{\"denyOut\":[5]}" },
		{ "network.denyOut'", "{\"denyOut\":\"1.1.1.1\"}" },
		{ "network.allowOut'", "{\"allowOut\":{}}" },
		{ "network.allowOut[0]", "{\"allowOut\":[\"\"]}" },
		{ "network.allowOut[0]", "{\"allowOut\":[\"1.1.1\"]}" },
		{ "network.allowOut[0]", "{\"allowOut\":[\"1.1.1.1:0\"]}" },
		{ "network.allowOut[0]", "{\"allowOut\":[\"1.1.1.1:http\"]}" },
		{ "network.allowOut[0]", "{\"allowOut\":[\"a b.com\"]}" },
		{ "network.allowOut[0]", "{\"allowOut\":[\"*.*.com\"]}" },
		{ "network.allowOut[0]", "{\"allowOut\":[\"http://a.com\"]}" },
		{ "network.allowOut[0]", "{\"allowOut\":[null]}" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(parse(bad[i][1], false), -EINVAL);
		assert_non_null(strstr(e.text, bad[i][0]));
	}
}

static void lists_are_bounded(void **state)
{
	json_t *network = json_pack("{s:[]}", "allowOut");

	(void)state;
	for (int i = 0; i <= POLICY_NETS_MAX; i++)
		(void)json_array_append_new(json_object_get(network, "allowOut"),
		    json_sprintf("1.1.%d.%d", i / 256, i % 256));
	assert_int_equal(spec_egress(network, false, &p, &silent, &e), -EINVAL);
	assert_non_null(strstr(e.text, "network.allowOut"));
	json_decref(network);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_sandboxes_have_no_policy),
		cmocka_unit_test(allow_beats_deny),
		cmocka_unit_test(ports_narrow_an_entry),
		cmocka_unit_test(names_need_a_denial_of_all_else),
		cmocka_unit_test(dns_servers_are_open_where_names_rule),
		cmocka_unit_test(bad_entries_are_named),
		cmocka_unit_test(lists_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
