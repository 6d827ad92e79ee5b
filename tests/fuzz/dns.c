/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: a query that is taken comes out of our own writing as the same question, and a reply answers it. */
#include <string.h>

#include "egress/dns.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t out[DNS_QUERY_MAX];
	struct dns_query q, again;
	struct dns_answer a;

	if (dns_parse_query(data, size, &q) == 0) {
		size_t n = dns_build_query(&q, 0x1234, out);

		MUST(n <= sizeof out && n <= size);
		MUST(dns_parse_query(out, n, &again) == 0);
		MUST(again.id == 0x1234 && again.type == q.type && again.class == q.class && again.n_name == q.n_name);
		MUST(memcmp(again.name, q.name, q.n_name) == 0);
		n = dns_build_reply(&q, DNS_SERVFAIL, true, out);
		MUST(n <= sizeof out && dns_check_answer(out, n, &q, q.id, &a) == 0 && a.truncated &&
		    a.rcode == DNS_SERVFAIL);
		uint8_t with[DNS_ADDRESS_MAX];
		uint32_t ip, ttl_s;

		n = dns_build_address(&q, 0x0ac80002, 60, with);
		MUST(n <= sizeof with && dns_check_answer(with, n, &q, q.id, &a) == 0 && a.rcode == DNS_NOERROR);
		MUST(q.type != DNS_TYPE_A || q.class != DNS_CLASS_IN ||
		    (dns_addresses(with, n, &ip, 1, &ttl_s) == 1 && ip == 0x0ac80002));
		(void)dns_name_ends(&q, "localhost");
		(void)dns_check_answer(data, size, &q, q.id, &a);
	} else {
		MUST(dns_build_reply(&q, DNS_FORMERR, false, out) == DNS_HEADER);
	}
	return 0;
}
