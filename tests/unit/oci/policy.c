/* SPDX-License-Identifier: Apache-2.0 */
/* oci/policy: who may be asked, and where nobody may be led to. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/inet.h"
#include "oci/policy.h"
#include "unit.h"

static bool private_v4(const char *z)
{
	struct sockaddr_in a = { .sin_family = AF_INET };

	assert_int_equal(inet_pton(AF_INET, z, &a.sin_addr), 1);
	return policy_is_private((struct sockaddr *)&a);
}

static bool private_v6(const char *z)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6 };

	assert_int_equal(inet_pton(AF_INET6, z, &a.sin6_addr), 1);
	return policy_is_private((struct sockaddr *)&a);
}

static void private_addresses(void **state)
{
	static const char *const yes4[] = { "127.0.0.1", "127.9.9.9", "10.0.0.1", "172.16.0.1", "192.168.1.1",
		"169.254.169.254", "0.0.0.0", "100.64.0.1", "224.0.0.1", "255.255.255.255" };
	static const char *const yes6[] = { "::", "::1", "fe80::1", "fc00::1", "fd12::1", "ff02::1", "::ffff:127.0.0.1",
		"::ffff:10.1.1.1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2001::1", "::7f00:1", "fec0::1" };

	(void)state;
	for (size_t i = 0; i < sizeof yes4 / sizeof *yes4; i++)
		assert_true(private_v4(yes4[i]));
	for (size_t i = 0; i < sizeof yes6 / sizeof *yes6; i++)
		assert_true(private_v6(yes6[i]));
	assert_false(private_v4("8.8.8.8"));
	assert_false(private_v6("2606:4700::1"));
	assert_false(private_v6("::ffff:8.8.8.8"));
	assert_false(private_v6("64:ff9b::808:808"));
}

static void mirrors_come_first(void **state)
{
	struct policy p = { 0 };
	struct endpoint ep;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(
	    policy_add_mirrors(&p,
		STR_LIT(
		    "docker.io=http://127.0.0.1:5000, docker.io=https://m.example/hub/ ghcr.io=https://x.example:443"),
		&e),
	    0);
	assert_int_equal(policy_add_registries(&p, STR_LIT("http://10.0.0.1:80,10.0.0.2:5000"), &e), 0);
	assert_true(policy_endpoint(&p, "docker.io", 0, &ep));
	assert_true(ep.mirror && ep.at.http);
	assert_string_equal(ep.at.host, "127.0.0.1:5000");
	assert_true(policy_endpoint(&p, "docker.io", 1, &ep));
	assert_string_equal(ep.path, "/hub");
	assert_true(policy_endpoint(&p, "docker.io", 2, &ep));
	assert_string_equal(ep.at.host, "registry-1.docker.io");
	assert_false(ep.mirror || ep.at.http);
	assert_false(policy_endpoint(&p, "docker.io", 3, &ep));
	assert_true(policy_endpoint(&p, "10.0.0.1", 0, &ep) && ep.at.http); /* as the operator named it */
	assert_true(policy_endpoint(&p, "10.0.0.2:5000", 0, &ep) && !ep.at.http);
	/* A mirror is no registry that users may name, and nothing else is spoken to without TLS. */
	assert_true(policy_endpoint(&p, "127.0.0.1:5000", 0, &ep));
	assert_false(ep.at.http || ep.named || policy_is_registry(&p, &ep.at));
	assert_true(policy_may_ask(&p, &ep.at));
	ep.at.http = true;
	assert_true(policy_may_ask(&p, &ep.at));
	(void)str_copy(ep.at.host, sizeof ep.at.host, STR_LIT("127.0.0.1:5001"));
	assert_false(policy_may_ask(&p, &ep.at) || policy_is_registry(&p, &ep.at));
	/* W7: not even by its right address, */
	assert_true(policy_endpoint(&p, "m.example", 0, &ep));
	assert_false(ep.named || ep.mirror);
	/* and a name is one of the operator's where he named it only. */
	assert_true(policy_endpoint(&p, "docker.io", 1, &ep) && ep.named);
	assert_true(policy_endpoint(&p, "docker.io", 2, &ep) && !ep.named);
	assert_true(policy_endpoint(&p, "10.0.0.1", 0, &ep) && ep.named);
	assert_true(policy_endpoint(&p, "ghcr.io", 1, &ep) && !ep.named);
}

static void what_is_no_mirror_is_refused(void **state)
{
	static const char *const bad[] = { "docker.io", "=http://x", "docker.io=", "docker.io=ftp://x",
		"docker.io=http://u@x", "docker.io=http://x/?y", "docker.io=http://x/%2e", "a b=http://x",
		"docker.io=http://" };
	struct policy p = { 0 };
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		if (policy_add_mirror(&p, str_of(bad[i]), &e) >= 0)
			fail_msg("'%s' was taken", bad[i]);
	}
	assert_int_equal(p.n, 0);
}

/* W7: an address of this host is closed, whatever it is. */
static void own_addresses_are_closed(void **state)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 b = { .sin6_family = AF_INET6 };

	(void)state;
	assert_true(inet_addr_is_own((struct sockaddr *)&a));
	assert_true(policy_is_closed((struct sockaddr *)&a));
	assert_int_equal(inet_pton(AF_INET, "192.0.2.77", &a.sin_addr), 1);
	assert_false(inet_addr_is_own((struct sockaddr *)&a));
	assert_false(policy_is_closed((struct sockaddr *)&a));
	assert_int_equal(inet_pton(AF_INET6, "2001:4860:4860::8888", &b.sin6_addr), 1);
	assert_false(inet_addr_is_own((struct sockaddr *)&b));
	assert_true(inet_addr_is_own(&(struct sockaddr) { .sa_family = AF_UNIX }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(private_addresses),
		cmocka_unit_test(own_addresses_are_closed),
		cmocka_unit_test(mirrors_come_first),
		cmocka_unit_test(what_is_no_mirror_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
