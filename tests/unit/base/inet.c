/* SPDX-License-Identifier: Apache-2.0 */
/* Units of base/inet: addresses, ranges and ports as text; what is closed. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>

#include "base/inet.h"
#include "unit.h"

static int parse(const char *text, struct inet_range *r)
{
	return inet_parse(str_of(text), r);
}

static void ranges_are_read_strictly(void **state)
{
	static const char *const bad[] = {
		"",
		"/",
		"/8",
		"1.1.1.1/",
		"1.1.1.1/33",
		"1.1.1.1/-1",
		"1.1.1.1/+8",
		"1.1.1.1/008",
		"1.1.1.1/8 ",
		" 1.1.1.1",
		"1.1.1",
		"1.1.1.256",
		"1.1.1.1.1",
		"01.1.1.1",
		"0x1.1.1.1",
		"a",
		"1.1.1.1/8/8",
		"1.1.1.1:80",
		"::1",
		"1.1.1.1111111111111111",
	};
	struct inet_range r;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_true(parse(bad[i], &r) < 0);
	assert_true(inet_parse((struct str) { "1.1.1.1\0x", 9 }, &r) < 0);
	assert_int_equal(parse("1.2.3.4", &r), 0);
	assert_int_equal(r.ip, 0x01020304);
	assert_int_equal(r.len, 32);
	assert_int_equal(parse("1.2.3.4/24", &r), 0);
	assert_int_equal(r.ip, 0x01020300);
	assert_int_equal(parse("255.255.255.255/0", &r), 0);
	assert_int_equal(r.ip, 0);
	assert_int_equal(r.len, 0);
}

static void an_address_is_written_as_it_is_read(void **state)
{
	static const char *const all[] = { "0.0.0.0", "1.2.3.4", "10.200.0.1", "127.0.0.1", "255.255.255.255" };
	char text[INET_TEXT_SIZE];
	struct inet_range r;

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		assert_int_equal(parse(all[i], &r), 0);
		assert_ptr_equal(inet_text(r.ip, text), text);
		assert_string_equal(text, all[i]);
	}
}

static void ports_are_a_range_or_one(void **state)
{
	static const char *const bad[] = { "", "0", "65536", "80-", "-80", "90-80", "80-90-100", "80,90", "x", "0-80",
		" 80" };
	uint16_t lo, hi;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_true(inet_ports_parse(str_of(bad[i]), &lo, &hi) < 0);
	assert_int_equal(inet_ports_parse(STR_LIT("443"), &lo, &hi), 0);
	assert_true(lo == 443 && hi == 443);
	assert_int_equal(inet_ports_parse(STR_LIT("1-65535"), &lo, &hi), 0);
	assert_true(lo == 1 && hi == 65535);
}

static void the_neighbourhood_is_private(void **state)
{
	static const char *const closed[] = {
		"10.0.0.1",
		"127.0.0.1",
		"168.63.129.16",
		"169.254.169.254",
		"172.31.255.255",
		"192.168.0.1",
		"100.64.0.1",
		"224.0.0.1",
		"255.255.255.255",
		"0.0.0.0",
	};
	static const char *const open[] = { "1.1.1.1", "172.32.0.1", "9.255.255.255", "11.0.0.0", "198.51.100.1",
		"203.0.113.7", "100.128.0.1" };
	struct inet_range r;

	(void)state;
	for (size_t i = 0; i < sizeof closed / sizeof *closed; i++) {
		assert_int_equal(parse(closed[i], &r), 0);
		assert_true(inet_is_private(r.ip));
	}
	for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
		assert_int_equal(parse(open[i], &r), 0);
		assert_false(inet_is_private(r.ip));
	}
}

static void the_host_and_the_sandboxes_cannot_be_opened(void **state)
{
	static const char *const never[] = {
		"127.0.0.1",
		"126.0.0.0/7",
		"169.254.169.254",
		"10.200.0.1",
		"10.215.255.255",
		"10.0.0.0/8",
		"224.0.0.251",
		"0.0.0.0/0",
	};
	static const char *const may[] = { "10.0.0.0/9", "10.216.0.0/16", "192.168.0.0/16", "172.16.0.0/12",
		"10.199.255.255", "100.64.0.0/10" };
	struct inet_range r;

	(void)state;
	for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
		assert_int_equal(parse(never[i], &r), 0);
		assert_true(inet_never_open(r));
	}
	for (size_t i = 0; i < sizeof may / sizeof *may; i++) {
		assert_int_equal(parse(may[i], &r), 0);
		assert_false(inet_never_open(r));
	}
}

static bool addr_never(const char *z)
{
	struct sockaddr_in four = { .sin_family = AF_INET };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };

	if (inet_pton(AF_INET, z, &four.sin_addr) == 1)
		return inet_addr_never_open((const struct sockaddr *)&four);
	assert_int_equal(inet_pton(AF_INET6, z, &six.sin6_addr), 1);
	return inet_addr_never_open((const struct sockaddr *)&six);
}

static void machines_metadata_is_never_open_in_any_dress(void **state)
{
	static const char *const never[] = { "169.254.169.254", "100.100.100.200", "168.63.129.16",
		"::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "64:ff9b::6464:64c8",
		"fd00:ec2::254", "fe80::1", "ff02::1" };
	static const char *const may[] = { "192.168.1.1", "127.0.0.1", "100.100.100.201", "fd00:ec3::1",
		"64:ff9b::c0a8:101", "2002:c0a8:101::1" };

	(void)state;
	for (size_t i = 0; i < sizeof never / sizeof *never; i++)
		assert_true(addr_never(never[i]));
	for (size_t i = 0; i < sizeof may / sizeof *may; i++)
		assert_false(addr_never(may[i]));
}

static void six_is_told_from_four(void **state)
{
	(void)state;
	assert_true(inet_is_v6(STR_LIT("::1")));
	assert_true(inet_is_v6(STR_LIT("2001:db8::/32")));
	assert_false(inet_is_v6(STR_LIT("2001:db8::/129")));
	assert_false(inet_is_v6(STR_LIT("1.1.1.1:80")));
	assert_false(inet_is_v6(STR_LIT("a.com:443")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_are_read_strictly),
		cmocka_unit_test(an_address_is_written_as_it_is_read),
		cmocka_unit_test(ports_are_a_range_or_one),
		cmocka_unit_test(the_neighbourhood_is_private),
		cmocka_unit_test(the_host_and_the_sandboxes_cannot_be_opened),
		cmocka_unit_test(machines_metadata_is_never_open_in_any_dress),
		cmocka_unit_test(six_is_told_from_four),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
