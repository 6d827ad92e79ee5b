/* SPDX-License-Identifier: Apache-2.0 */
/* Units of egress/flow: what is decided about a connection. */
#include <stdint.h>

#include "egress/flow.h"
#include "unit.h"

#define HERE 0x01010101u /* allowed by its address */
#define THERE 0x08080808u

static struct policy *only_names(void)
{
	struct policy *p = policy_new(POLICY_DENY_ALL);
	struct policy_net net = { .ip = HERE, .len = 32, .allow = 1, .port_hi = 65535 };

	assert_int_equal(policy_add_net(p, &net), 0);
	assert_int_equal(policy_add_name(p, POLICY_ALLOW, STR_LIT("a.com"), 443, 443), 0);
	assert_int_equal(policy_add_name(p, POLICY_ALLOW, STR_LIT("*.b.org"), 80, 80), 0);
	return p;
}

static void a_name_leads_to_the_name(void **state)
{
	struct policy *p = only_names();

	(void)state;
	assert_int_equal(flow_decide(p, "a.com", THERE, 443), FLOW_BY_NAME);
	assert_int_equal(flow_decide(p, "a.com", HERE, 443), FLOW_BY_NAME); /* wherever the sandbox thinks it is */
	assert_int_equal(flow_decide(p, "x.b.org", THERE, 80), FLOW_BY_NAME);
	assert_int_equal(flow_decide(p, "b.org", THERE, 80), FLOW_REFUSE);
	assert_int_equal(flow_decide(p, "a.com", THERE, 80), FLOW_REFUSE);
	assert_int_equal(flow_decide(p, "x.a.com", THERE, 443), FLOW_REFUSE);
	policy_free(p);
}

static void without_one_the_address_counts(void **state)
{
	struct policy *p = only_names();

	(void)state;
	assert_int_equal(flow_decide(p, "", THERE, 443), FLOW_REFUSE);
	assert_int_equal(flow_decide(p, "", HERE, 443), FLOW_BY_ADDRESS);
	assert_int_equal(flow_decide(p, "other.net", HERE, 443), FLOW_BY_ADDRESS);
	policy_free(p);
}

static void what_is_rewritten_never_goes_where_the_sandbox_says(void **state)
{
	struct policy *p = policy_new(0);

	(void)state;
	assert_int_equal(policy_add_name(p, POLICY_REWRITE, STR_LIT("a.com"), 443, 443), 0);
	assert_int_equal(flow_decide(p, "a.com", THERE, 443), FLOW_BY_NAME);
	assert_int_equal(flow_decide(p, "b.com", THERE, 443), FLOW_BY_ADDRESS);
	p->flags = POLICY_DENY_ALL; /* a rewrite allows nothing */
	assert_int_equal(flow_decide(p, "a.com", THERE, 443), FLOW_REFUSE);
	policy_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_leads_to_the_name),
		cmocka_unit_test(without_one_the_address_counts),
		cmocka_unit_test(what_is_rewritten_never_goes_where_the_sandbox_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
