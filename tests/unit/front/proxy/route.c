/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/proxy_route: hosts and headers that name a sandbox. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "front/proxy/route.h"
#include "unit.h"

static struct proxy_target t;

static enum proxy_route host(const char *h)
{
	return proxy_route(str_of(h), STR_NULL, STR_NULL, "sbx.test", &t);
}

static enum proxy_route both(const char *h, const char *id, const char *port)
{
	return proxy_route(str_of(h), str_of(id), str_of(port), "", &t);
}

static void label_names_port_and_id(void **state)
{
	static const char *const hosts[] = {
		"49983-iabc.localhost",
		"49983-iabc.localhost:3000",
		"49983-iabc-6532622b.sbx.example",
		"49983-iabc.SBX.test",
		"49983-iabc-x-y-z.sbx.test:8443",
	};

	(void)state;
	for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
		assert_int_equal(host(hosts[i]), ROUTE_PORT);
		assert_int_equal(t.port, 49983);
		assert_true(str_is(t.id, "iabc"));
	}
}

static void a_domain_may_have_a_port(void **state)
{
	(void)state;
	assert_int_equal(proxy_route(STR_LIT("x-iabc.sbx.test:8443"), STR_NULL, STR_NULL, "sbx.test:8443", &t),
	    ROUTE_BAD);
	assert_int_equal(proxy_route(STR_LIT("80-iabc.sbx.test:8443"), STR_NULL, STR_NULL, "sbx.test:8443", &t),
	    ROUTE_PORT);
	assert_int_equal(proxy_route(STR_LIT("api.sbx.test:8443"), STR_NULL, STR_NULL, "sbx.test:8443", &t), ROUTE_API);
}

static void malformed_labels_are_refused_in_words(void **state)
{
	(void)state;
	assert_int_equal(host("x-abc.localhost"), ROUTE_BAD);
	assert_string_equal(t.why, "Invalid sandbox port");
	assert_int_equal(host("99999-abc.localhost"), ROUTE_BAD);
	assert_string_equal(t.why, "Invalid sandbox port");
	assert_int_equal(host("0-abc.sbx.test"), ROUTE_BAD);
	assert_int_equal(host("80-.sbx.test"), ROUTE_BAD);
	assert_string_equal(t.why, "Invalid sandbox ID");
	assert_int_equal(host("80-ABC.sbx.test"), ROUTE_BAD);
}

static void other_hosts_are_the_api(void **state)
{
	static const char *const hosts[] = {
		"localhost",
		"localhost:3000",
		"127.0.0.1:3000",
		"[::1]:3000",
		"api.sbx.test",
		"my-server.lan",
		"server",
		"",
		"sandbox.sbx.test",
	};

	(void)state;
	for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
		assert_int_equal(host(hosts[i]), ROUTE_API);
}

static void headers_count_where_the_host_cannot(void **state)
{
	static const char *const hosts[] = { "localhost:3000", "10.0.0.1", "[::1]", "sandbox.example.com",
		"my-server.lan" };

	(void)state;
	for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
		assert_int_equal(both(hosts[i], "iabc-6532622b", "8080"), ROUTE_PORT);
		assert_true(str_is(t.id, "iabc"));
		assert_int_equal(t.port, 8080);
	}
	assert_int_equal(both("49983-ihost.localhost", "iheader", "1"), ROUTE_PORT);
	assert_true(str_is(t.id, "ihost"));
}

static void both_headers_are_needed_and_checked(void **state)
{
	static const char *const ports[] = { "0", "65536", "x", "-1", "80x", "", " 80", "+80" };

	(void)state;
	assert_int_equal(both("localhost", NULL, "80"), ROUTE_BAD);
	assert_string_equal(t.why, "missing header");
	assert_int_equal(both("localhost", "iabc", NULL), ROUTE_BAD);
	assert_string_equal(t.why, "missing header");
	for (size_t i = 0; i < sizeof ports / sizeof *ports; i++)
		assert_int_equal(both("localhost", "iabc", ports[i]), ROUTE_BAD);
	assert_int_equal(both("localhost", "../x", "80"), ROUTE_BAD);
}

static void local_names_are_those_nobody_else_can_have(void **state)
{
	static const char *const ours[] = { "127.0.0.1", "127.0.0.1:80", "[::1]:80", "192.0.2.7", "localhost",
		"LOCALHOST:1", "api.localhost", "sbx.test", "api.sbx.test:443" };
	static const char *const others[] = { "", "evil.example", "localhost.evil.example", "notlocalhost",
		"sbx.test.evil", "xsbx.test" };

	(void)state;
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		assert_true(host_is_local(str_of(ours[i]), "sbx.test"));
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		assert_false(host_is_local(str_of(others[i]), "sbx.test"));
	assert_false(host_is_local(str_of("x.test"), ""));
	assert_true(str_is(host_domain(str_of("api.sbx.test:8443")), "sbx.test:8443"));
	assert_true(str_is(host_domain(str_of("api.sbx.test")), "sbx.test"));
	static const char *const none[] = { "sbx.test", "api.", "api.:80", "api.x:", "api.x:8x", "api.-x", "api..x",
		"api.x/y", "api.X", "", "127.0.0.1" };

	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		assert_null(host_domain(str_of(none[i])).p);
	assert_true(host_is_local(str_of("api.sbx.test:8443"), "sbx.test:8443"));
	assert_true(host_is_local(str_of("sbx.test"), "sbx.test:8443"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(label_names_port_and_id),
		cmocka_unit_test(a_domain_may_have_a_port),
		cmocka_unit_test(malformed_labels_are_refused_in_words),
		cmocka_unit_test(other_hosts_are_the_api),
		cmocka_unit_test(headers_count_where_the_host_cannot),
		cmocka_unit_test(both_headers_are_needed_and_checked),
		cmocka_unit_test(local_names_are_those_nobody_else_can_have),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
