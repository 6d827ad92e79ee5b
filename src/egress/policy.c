/* SPDX-License-Identifier: Apache-2.0 */
/* serve: which queries never leave. */
#include "base/fd.h"
#include "egress/clients.h"
#include "egress/dns.h"
#include "egress/serve.h"

/* Names that no name server should be asked for (RFC 6761, 7686). */
static const char *const never_asked[] = { "localhost", "invalid", "onion" };

int serve_policy(const struct clients *cs, uint32_t from, const struct dns_query *q)
{
	struct client *c = clients_find(cs, from);
	char name[POLICY_NAME_SIZE] = "";

	if (q->class != DNS_CLASS_IN || q->type == DNS_TYPE_AXFR || q->type == DNS_TYPE_IXFR || q->type == DNS_TYPE_OPT)
		return DNS_REFUSED;
	for (size_t i = 0; i < ARRAY_LEN(never_asked); i++) {
		if (dns_name_ends(q, never_asked[i]))
			return DNS_NXDOMAIN;
	}
	if (c && (!dns_name_text(q, name, sizeof name) || !client_may_ask(c, str_of(name)))) {
		if (q->type == DNS_TYPE_A) /* of the several that a program asks */
			client_refused(c, name, 0, 0, "name is not allowed");
		return DNS_NXDOMAIN;
	}
	/* With a key from there the name in a TLS handshake would be hidden from the proxy. */
	if (c && (q->type == DNS_TYPE_SVCB || q->type == DNS_TYPE_HTTPS))
		return DNS_NOERROR;
	/* Sandboxes have no IPv6: an address they cannot reach would only make programs wait for it. */
	if (q->type == DNS_TYPE_AAAA)
		return DNS_NOERROR;
	return -1;
}
