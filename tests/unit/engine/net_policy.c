/* SPDX-License-Identifier: Apache-2.0 */
/* Units of engine/net_policy: the chains of one sandbox as text. */
#include <stdint.h>

#include <string.h>

#include "engine/engine.h"
#include "engine/net/policy.h"
#include "unit.h"

static struct engine_policy p;

static void text_of(struct buf *b, bool silent, const struct engine_policy *pol)
{
	net_policy_text(b, 1, 7, 4444, silent, pol);
	assert_non_null(buf_cstr(b));
}

static size_t at(const struct buf *b, const char *what)
{
	const char *found = strstr(b->p, what);

	assert_non_null(found);
	return (size_t)(found - b->p);
}

static void allowed_nets_come_before_denied_ones(void **state)
{
	autobuf struct buf b = BUF_INIT(1 << 16);

	(void)state;
	p = (struct engine_policy) { .n_nets = 3,
		.nets = {
		    { .ip = 0x08080808, .len = 32, .port_hi = 65535 },
		    { .ip = 0x01010100, .len = 24, .port_hi = 65535, .allow = true },
		    { .ip = 0, .len = 0, .port_lo = 25, .port_hi = 25 },
		} };
	text_of(&b, false, &p);
	assert_true(at(&b, "rules7 ip daddr 1.1.1.0/24 return\n") < at(&b, "rules7 ip daddr 8.8.8.8 jump refuse\n"));
	(void)at(&b, "rules7 tcp dport 25-25 jump refuse\n");
	(void)at(&b, "rules7 udp dport 25-25 jump refuse\n");
	(void)at(&b, "add element inet atoll1 ruled { \"at1s7\" : jump rules7 }\n");
	(void)at(&b, "delete element inet atoll1 silent { \"at1s7\" }\n");
	assert_null(strstr(b.p, "rules7 jump refuse"));
	assert_null(strstr(b.p, "delete element inet atoll1 ruled"));
	assert_null(strstr(b.p, "dnat"));
	assert_null(strstr(b.p, "delete chain"));
}

static void the_rest_is_refused_last(void **state)
{
	autobuf struct buf b = BUF_INIT(1 << 16);

	(void)state;
	p = (struct engine_policy) { .deny_all = true,
		.no_dns = true,
		.n_nets = 1,
		.nets = {
		    { .ip = 0x01010101, .len = 32, .port_lo = 443, .port_hi = 444, .allow = true },
		} };
	text_of(&b, false, &p);
	assert_true(at(&b, "rules7 ip daddr 1.1.1.1 tcp dport 443-444 return\n") < at(&b, "rules7 jump refuse\n"));
	(void)at(&b, "add element inet atoll1 mute { \"at1s7\" }\n");
	assert_null(strstr(b.p, "delete element inet atoll1 mute"));
}

static void ports_of_names_go_to_the_proxy(void **state)
{
	autobuf struct buf b = BUF_INIT(1 << 16), c = BUF_INIT(1 << 16);

	(void)state;
	p = (struct engine_policy) { .deny_all = true,
		.n_nets = 1,
		.nets = { { .ip = 0x01010101, .len = 32, .port_hi = 65535, .allow = true } },
		.n_ports = 1,
		.ports = { { 443, 443 } } };
	text_of(&b, false, &p);
	assert_true(at(&b, "divert7 ip daddr 1.1.1.1 return\n") <
	    at(&b, "divert7 tcp dport 443-443 dnat ip to 10.201.0.1:4444\n"));
	assert_null(strstr(b.p, "udp dport 443"));
	p.all_through = true;
	text_of(&c, false, &p);
	assert_null(strstr(c.p, "divert7 ip daddr"));
	assert_true(at(&c, "rules7 udp dport 443-443 jump refuse\n") < at(&c, "rules7 ip daddr 1.1.1.1 return\n"));
}

static void without_a_policy_nothing_is_left(void **state)
{
	autobuf struct buf b = BUF_INIT(1 << 16);

	(void)state;
	text_of(&b, true, NULL);
	assert_true(
	    at(&b, "delete element inet atoll1 ruled { \"at1s7\" }\n") < at(&b, "delete chain inet atoll1 rules7\n"));
	(void)at(&b, "delete element inet atoll1 diverted { \"at1s7\" }\n");
	(void)at(&b, "delete chain inet atoll1 divert7\n");
	assert_null(strstr(b.p, "delete element inet atoll1 silent"));
	assert_null(strstr(b.p, "add rule"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allowed_nets_come_before_denied_ones),
		cmocka_unit_test(the_rest_is_refused_last),
		cmocka_unit_test(ports_of_names_go_to_the_proxy),
		cmocka_unit_test(without_a_policy_nothing_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
