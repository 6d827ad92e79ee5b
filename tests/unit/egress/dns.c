/* SPDX-License-Identifier: Apache-2.0 */
/* Units of egress/dns: queries taken apart, answers checked, policy. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "egress/clients.h"
#include "egress/dns.h"
#include "egress/serve.h"
#include "unit.h"

#define HEAD "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
#define HEAD_OPT "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01"
#define NAME "\3www\7Example\3org\0"
#define IN_A "\0\1\0\1"
#define IN_AAAA "\0\x1c\0\1"
#define OPT "\0\0\x29\x10\0\0\0\x80\0\0\4abcd"
#define BYTES(s) (s), sizeof(s) - 1

static void query_is_taken_apart(void **state)
{
	struct dns_query q;

	(void)state;
	assert_int_equal(dns_parse_query(BYTES(HEAD NAME IN_A), &q), 0);
	assert_int_equal(q.id, 0x1234);
	assert_int_equal(q.type, DNS_TYPE_A);
	assert_true(q.recursion);
	assert_false(q.edns);
	assert_int_equal(q.udp_size, 512);
	assert_int_equal(q.n_name, sizeof NAME - 1);
	assert_true(dns_name_ends(&q, "org"));
	assert_false(dns_name_ends(&q, "example"));
}

static void edns_is_kept_without_its_options(void **state)
{
	struct dns_query q;
	uint8_t out[DNS_QUERY_MAX];

	(void)state;
	assert_int_equal(dns_parse_query(BYTES(HEAD_OPT NAME IN_A OPT), &q), 0);
	assert_true(q.edns);
	assert_true(q.dnssec_ok);
	assert_int_equal(q.udp_size, DNS_UDP_MAX);
	size_t n = dns_build_query(&q, 0xbeef, out);

	assert_int_equal(n, 12 + sizeof NAME - 1 + 4 + 11);
	assert_int_equal(out[0], 0xbe);
	assert_null(memmem(out, n, "abcd", 4));
}

static void every_cut_of_a_query_is_refused(void **state)
{
	static const char whole[] = HEAD_OPT NAME IN_A OPT;
	struct dns_query q;

	(void)state;
	for (size_t n = 0; n < sizeof whole - 1; n++) {
		int r = dns_parse_query(whole, n, &q);

		assert_int_equal(r, n < DNS_HEADER ? -ENOMSG : -EBADMSG);
		assert_int_equal(q.n_name, 0);
	}
	assert_int_equal(dns_parse_query(whole, sizeof whole, &q), -EBADMSG); /* a byte behind its end */
}

static void odd_queries_are_refused(void **state)
{
	char longest[12 + 300 + 4] = HEAD;
	struct dns_query q;

	(void)state;
	/* an answer */
	assert_int_equal(dns_parse_query(BYTES("\x12\x34\x81\x80\0\1\0\0\0\0\0\0" NAME IN_A), &q), -ENOMSG);
	assert_int_equal(dns_parse_query(BYTES("\x12\x34\x28\x00\0\1\0\0\0\0\0\0" NAME IN_A), &q), -EOPNOTSUPP);
	assert_int_equal(dns_parse_query(BYTES("\x12\x34\x01\x00\0\2\0\0\0\0\0\0" NAME IN_A NAME IN_A), &q), -EBADMSG);
	assert_int_equal(dns_parse_query(BYTES("\x12\x34\x01\x00\0\0\0\0\0\0\0\0"), &q), -EBADMSG);
	assert_int_equal(dns_parse_query(BYTES(HEAD "\xc0\x0c" IN_A), &q), -EBADMSG); /* points at itself */
	assert_int_equal(dns_parse_query(BYTES(HEAD "\x40"
						    "abc\0" IN_A),
			     &q),
	    -EBADMSG);
	/* not an OPT */
	assert_int_equal(dns_parse_query(BYTES(HEAD_OPT NAME IN_A "\0\0\1\0\1\0\0\0\0\0\0"), &q), -EBADMSG);
	/* A name of 255 bytes is the longest, one of 256 is not. */
	for (size_t i = 0; i < 127; i++)
		memcpy(longest + 12 + 2 * i, "\1a", 2);
	memcpy(longest + 12 + 254, "\0\0\1\0\1", 5);
	assert_int_equal(dns_parse_query(longest, 12 + 255 + 4, &q), 0);
	assert_int_equal(q.n_name, 255);
	memcpy(longest + 12, "\2aa", 3);
	for (size_t i = 0; i < 126; i++)
		memcpy(longest + 15 + 2 * i, "\1a", 2);
	memcpy(longest + 15 + 252, "\0\0\1\0\1", 5);
	assert_int_equal(dns_parse_query(longest, 12 + 256 + 4, &q), -EBADMSG);
}

static void answer_must_be_to_our_question(void **state)
{
	struct dns_query q;
	struct dns_answer a;

	(void)state;
	assert_int_equal(dns_parse_query(BYTES(HEAD NAME IN_A), &q), 0);
#define ANSWER(id, flags, name, rest) BYTES(id flags "\0\1\0\0\0\0\0\0" name rest)
	assert_int_equal(dns_check_answer(ANSWER("\xbe\xef", "\x81\x80", NAME, IN_A), &q, 0xbeef, &a), 0);
	assert_int_equal(a.rcode, 0);
	assert_int_equal(
	    dns_check_answer(ANSWER("\xbe\xef", "\x83\x83", "\3WWW\7example\3ORG\0", IN_A), &q, 0xbeef, &a), 0);
	assert_int_equal(a.rcode, DNS_NXDOMAIN);
	assert_true(a.truncated);
	assert_true(dns_check_answer(ANSWER("\xbe\xee", "\x81\x80", NAME, IN_A), &q, 0xbeef, &a) < 0);
	assert_true(dns_check_answer(ANSWER("\xbe\xef", "\x01\x80", NAME, IN_A), &q, 0xbeef, &a) < 0);
	assert_true(dns_check_answer(ANSWER("\xbe\xef", "\x81\x80", NAME, IN_AAAA), &q, 0xbeef, &a) < 0);
	assert_true(
	    dns_check_answer(ANSWER("\xbe\xef", "\x81\x80", "\3wwx\7example\3org\0", IN_A), &q, 0xbeef, &a) < 0);
	assert_true(dns_check_answer(BYTES("\xbe\xef\x81\x80\0\0\0\0\0\0\0\0"), &q, 0xbeef, &a) < 0);
	assert_int_equal(dns_check_answer(BYTES("\xbe\xef\x81\x85\0\0\0\0\0\0\0\0"), &q, 0xbeef, &a), 0);
	assert_true(dns_check_answer(BYTES("\xbe\xef\x81"), &q, 0xbeef, &a) < 0);
}

static void own_replies_are_well_formed(void **state)
{
	struct dns_query q;
	struct dns_answer a;
	uint8_t out[DNS_QUERY_MAX];

	(void)state;
	assert_int_equal(dns_parse_query(BYTES(HEAD_OPT NAME IN_A OPT), &q), 0);
	size_t n = dns_build_reply(&q, DNS_SERVFAIL, true, out);
	assert_int_equal(dns_check_answer(out, n, &q, 0x1234, &a), 0);
	assert_int_equal(a.rcode, DNS_SERVFAIL);
	assert_true(a.truncated);
	assert_int_equal(dns_parse_query(BYTES(HEAD "\xff"), &q), -EBADMSG);
	assert_int_equal(dns_build_reply(&q, DNS_FORMERR, false, out), DNS_HEADER);
}

static void an_address_of_our_own_is_well_formed(void **state)
{
	struct dns_query q;
	struct dns_answer a;
	uint8_t out[DNS_ADDRESS_MAX];
	uint32_t ip = 0, ttl_s = 0;

	(void)state;
	assert_int_equal(dns_parse_query(BYTES(HEAD_OPT NAME IN_A OPT), &q), 0);
	size_t n = dns_build_address(&q, 0x0ac80002, 60, out);
	assert_int_equal(dns_check_answer(out, n, &q, 0x1234, &a), 0);
	assert_int_equal(a.rcode, DNS_NOERROR);
	assert_int_equal(dns_addresses(out, n, &ip, 1, &ttl_s), 1);
	assert_int_equal(ip, 0x0ac80002);
	assert_int_equal(ttl_s, 60);
}

static struct clients *no_policies(void)
{
	static struct clients *none;

	if (!none)
		none = clients_new();
	assert_non_null(none);
	return none;
}

static int policy(const char *p, size_t n)
{
	struct dns_query q;

	assert_int_equal(dns_parse_query(p, n, &q), 0);
	return serve_policy(no_policies(), 0, &q);
}

static void some_names_are_never_asked_for(void **state)
{
	(void)state;
	assert_int_equal(policy(BYTES(HEAD NAME IN_A)), -1);
	assert_int_equal(policy(BYTES(HEAD NAME IN_AAAA)), DNS_NOERROR);
	assert_int_equal(policy(BYTES(HEAD "\1a\11LocalHost\0" IN_A)), DNS_NXDOMAIN);
	assert_int_equal(policy(BYTES(HEAD "\11localhost\0" IN_AAAA)), DNS_NXDOMAIN);
	assert_int_equal(policy(BYTES(HEAD "\11localhost\3org\0" IN_A)), -1);
	assert_int_equal(policy(BYTES(HEAD "\12xlocalhost\0" IN_A)), -1);
	assert_int_equal(policy(BYTES(HEAD "\0" IN_A)), -1);
	assert_int_equal(policy(BYTES(HEAD NAME "\0\xfc\0\1")), DNS_REFUSED);
	assert_int_equal(policy(BYTES(HEAD NAME "\0\1\0\3")), DNS_REFUSED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(query_is_taken_apart),
		cmocka_unit_test(edns_is_kept_without_its_options),
		cmocka_unit_test(every_cut_of_a_query_is_refused),
		cmocka_unit_test(odd_queries_are_refused),
		cmocka_unit_test(answer_must_be_to_our_question),
		cmocka_unit_test(own_replies_are_well_formed),
		cmocka_unit_test(an_address_of_our_own_is_well_formed),
		cmocka_unit_test(some_names_are_never_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
