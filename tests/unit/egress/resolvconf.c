/* SPDX-License-Identifier: Apache-2.0 */
/* Units of egress/resolvconf: name servers out of a file as people write it. */
#include <arpa/inet.h>
#include <stdint.h>

#include "egress/resolvconf.h"
#include "unit.h"

static void name_servers_are_found(void **state)
{
	union upstream up[UPSTREAMS_MAX];

	(void)state;
	assert_int_equal(
	    resolvconf_parse(STR_LIT("# nameserver 9.9.9.9\nsearch lan\n nameserver\t10.0.0.53  \nnameserver nonsense\n"
				     "nameserver 2001:db8::1\nnameserverx 1.1.1.1\nnameserver 127.0.0.53"),
		up),
	    3);
	assert_int_equal(up[0].v4.sin_addr.s_addr, inet_addr("10.0.0.53"));
	assert_int_equal(ntohs(up[0].v4.sin_port), 53);
	assert_int_equal(up[1].sa.sa_family, AF_INET6);
	assert_int_equal(up[2].v4.sin_addr.s_addr, inet_addr("127.0.0.53"));
}

static void only_so_many_are_used(void **state)
{
	union upstream up[UPSTREAMS_MAX];

	(void)state;
	assert_int_equal(
	    resolvconf_parse(STR_LIT("nameserver 1.0.0.1\nnameserver 1.0.0.2\nnameserver 1.0.0.3\nnameserver 1.0.0.4\n"
				     "nameserver 1.0.0.5\n"),
		up),
	    UPSTREAMS_MAX);
	assert_int_equal(resolvconf_parse(STR_LIT(""), up), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(name_servers_are_found),
		cmocka_unit_test(only_so_many_are_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
