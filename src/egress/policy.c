/* SPDX-License-Identifier: Apache-2.0 */
/* serve: which queries never leave. */
#include "base/fd.h"
#include "egress/dns.h"
#include "egress/serve.h"

/* Names that no name server should be asked for (RFC 6761, 7686). */
static const char *const never_asked[] = { "localhost", "invalid", "onion" };

int serve_policy(const struct dns_query *q)
{
	if (q->class != DNS_CLASS_IN || q->type == DNS_TYPE_AXFR || q->type == DNS_TYPE_IXFR || q->type == DNS_TYPE_OPT)
		return DNS_REFUSED;
	for (size_t i = 0; i < ARRAY_LEN(never_asked); i++) {
		if (dns_name_ends(q, never_asked[i]))
			return DNS_NXDOMAIN;
	}
	/* Sandboxes have no IPv6: an address they cannot reach would only make programs wait for it. */
	if (q->type == DNS_TYPE_AAAA)
		return DNS_NOERROR;
	return -1;
}
