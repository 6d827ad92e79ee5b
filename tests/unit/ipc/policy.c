/* SPDX-License-Identifier: Apache-2.0 */
/* Units of ipc/policy: what is written comes back, nothing else does, and what the entries mean. */
#include <stdint.h>

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "ipc/policy.h"
#include "unit.h"

static bool ok(const char *name)
{
	return policy_name_ok(str_of(name));
}

static bool match(const char *pattern, const char *name)
{
	return policy_name_match(str_of(pattern), str_of(name));
}

static void names_are_plain_lower_case_domains(void **state)
{
	static const char *const good[] = { "a.com", "*.a.com", "*", "localhost", "a-b.c_d.x1", "xn--bcher-kva.example",
		"1.a", "a.b.c.d.e.f" };
	static const char *const bad[] = {
		"",
		".",
		"a.",
		".a",
		"a..b",
		"A.com",
		"*.",
		"*a.com",
		"a.*.com",
		"**",
		"*.*.com",
		"a b",
		"a/b",
		"a:1",
		"-a.com",
		"a-.com",
		"1.2.3.4",
		"1.2",
		"999.999",
		"a\n",
		"b\xc3\xbc",
		"a.com.",
	};
	char labels[300];

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		assert_true(ok(good[i]));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(ok(bad[i]));
	memset(labels, 'a', sizeof labels);
	assert_true(policy_name_ok((struct str) { labels, 63 }));
	assert_false(policy_name_ok((struct str) { labels, 64 }));
	for (size_t i = 63; i < sizeof labels; i += 64)
		labels[i] = '.';
	assert_true(policy_name_ok((struct str) { labels, 253 }));
	assert_false(policy_name_ok((struct str) { labels, 254 }));
}

static void a_wildcard_stands_for_what_is_below(void **state)
{
	(void)state;
	assert_true(match("a.com", "a.com"));
	assert_false(match("a.com", "b.a.com"));
	assert_true(match("*.a.com", "b.a.com"));
	assert_true(match("*.a.com", "c.b.a.com"));
	assert_false(match("*.a.com", "a.com"));
	assert_false(match("*.a.com", "ba.com"));
	assert_false(match("*.a.com", ".a.com.evil"));
	assert_true(match("*", "anything.at.all"));
	assert_false(match("*", ""));
}

static struct policy *sample(void)
{
	struct policy *p = policy_new(POLICY_DENY_ALL);
	struct policy_net in = { .ip = 0x01010100, .len = 24, .allow = 1, .port_hi = 65535 };
	struct policy_net out = { .ip = 0x01010180, .len = 25, .port_lo = 80, .port_hi = 90 };

	assert_int_equal(policy_add_net(p, &in), 0);
	assert_int_equal(policy_add_net(p, &out), 0);
	assert_int_equal(policy_add_name(p, POLICY_ALLOW, STR_LIT("*.a.com"), 443, 443), 0);
	assert_int_equal(policy_add_name(p, POLICY_REWRITE, STR_LIT("b.org"), 80, 80), 0);
	return p;
}

static void a_policy_comes_back(void **state)
{
	autobuf struct buf b = BUF_INIT(POLICY_MAX), again = BUF_INIT(POLICY_MAX);
	struct policy *p = sample(), *got = NULL;

	(void)state;
	policy_encode(p, &b);
	assert_int_equal(policy_decode(b.p, b.n, &got), 0);
	assert_int_equal(got->n_nets, 2);
	assert_int_equal(got->n_names, 2);
	assert_string_equal(got->names[0].text, "*.a.com");
	policy_encode(got, &again);
	assert_int_equal(again.n, b.n);
	assert_memory_equal(again.p, b.p, b.n);
	policy_free(p);
	policy_free(got);
	for (size_t i = 0; i < b.n; i++)
		assert_int_equal(policy_decode(b.p, i, &got), -EBADMSG);
	buf_ch(&b, 'x');
	assert_int_equal(policy_decode(b.p, b.n, &got), -EBADMSG);
}

static void counts_are_bounded(void **state)
{
	struct policy *p = policy_new(0);
	struct policy_net net = { .len = 32, .port_hi = 65535 };

	(void)state;
	for (int i = 0; i < POLICY_NETS_MAX; i++)
		assert_int_equal(policy_add_net(p, &net), 0);
	assert_int_equal(policy_add_net(p, &net), -E2BIG);
	for (int i = 0; i < POLICY_NAMES_MAX; i++)
		assert_int_equal(policy_add_name(p, POLICY_ALLOW, STR_LIT("a"), 1, 1), 0);
	assert_int_equal(policy_add_name(p, POLICY_ALLOW, STR_LIT("a"), 1, 1), -E2BIG);
	policy_free(p);
}

static void what_is_allowed_beats_what_is_denied(void **state)
{
	struct policy *p = sample();

	(void)state;
	assert_int_equal(policy_net_verdict(p, 0x01010181, 80), 1);
	assert_int_equal(policy_net_verdict(p, 0x02020202, 80), -1);
	p->flags = 0;
	assert_int_equal(policy_net_verdict(p, 0x02020202, 80), 0);
	p->nets[0].allow = 0;
	p->nets[0].len = 32;
	assert_int_equal(policy_net_verdict(p, 0x01010181, 80), -1);
	assert_int_equal(policy_net_verdict(p, 0x01010181, 91), 0);
	assert_true(policy_name_find(p, POLICY_ALLOW, STR_LIT("x.a.com"), 443));
	assert_true(policy_name_find(p, POLICY_ALLOW, STR_LIT("x.a.com"), 0));
	assert_false(policy_name_find(p, POLICY_ALLOW, STR_LIT("x.a.com"), 80));
	assert_false(policy_name_find(p, POLICY_ALLOW, STR_LIT("b.org"), 80));
	assert_true(policy_name_find(p, POLICY_REWRITE, STR_LIT("b.org"), 80));
	assert_true(policy_port_rewritten(p, 80));
	assert_false(policy_port_rewritten(p, 443)); /* has a name of the other kind */
	assert_true(policy_port_named(p, 443));
	policy_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_plain_lower_case_domains),
		cmocka_unit_test(a_wildcard_stands_for_what_is_below),
		cmocka_unit_test(a_policy_comes_back),
		cmocka_unit_test(counts_are_bounded),
		cmocka_unit_test(what_is_allowed_beats_what_is_denied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
