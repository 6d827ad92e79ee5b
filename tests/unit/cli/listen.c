/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/listen: "ADDRESS:PORT". */
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>

#include "base/fd.h"
#include "cli/host/listen.h"
#include "unit.h"

static void numeric_addresses(void **state)
{
	struct listen_addr a;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(listen_parse("127.0.0.1:3000", &a, &e), 0);
	assert_int_equal(a.sa.ss_family, AF_INET);
	assert_int_equal(ntohs(((struct sockaddr_in *)&a.sa)->sin_port), 3000);
	assert_int_equal(listen_parse("[::1]:80", &a, &e), 0);
	assert_int_equal(a.sa.ss_family, AF_INET6);
}

static void everything_else_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		":",
		"3000",
		"127.0.0.1",
		"127.0.0.1:",
		"127.0.0.1:65536",
		"127.0.0.1:-1",
		"127.0.0.1:3000x",
		"host:80",
		"::1:80",
		"[127.0.0.1]:80",
		"[::1:80",
		":80",
		"1.2.3:80",
	};
	struct listen_addr a;
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(listen_parse(bad[i], &a, &e), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numeric_addresses),
		cmocka_unit_test(everything_else_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
