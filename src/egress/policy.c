/* SPDX-License-Identifier: Apache-2.0 */
/* serve: decides which queries are answered without being forwarded. */
#include <string.h>

#include "base/fd.h"
#include "base/str.h"
#include "egress/clients.h"
#include "egress/dns.h"
#include "egress/serve.h"

/* Names that must not be sent to a name server (RFC 6761, 7686). */
static const char *const never_asked[] = { "localhost", "invalid", "onion" };

static char own_domain[POLICY_NAME_SIZE]; /* "": none */
static uint32_t own_ip;

void serve_names(const char *domain, uint32_t ip)
{
	(void)str_copy(own_domain, sizeof own_domain, str_of(domain));
	own_ip = ip;
}

uint32_t serve_names_ip(void)
{
	return own_ip;
}

static bool is_own(const char *name)
{
	size_t n = strlen(name), d = strlen(own_domain);

	return d > 0 && n >= d && strcmp(name + n - d, own_domain) == 0 && (n == d || name[n - d - 1] == '.');
}

int serve_policy(const struct clients *cs, uint32_t from, const struct dns_query *q)
{
	struct client *c = clients_find(cs, from);
	char name[POLICY_NAME_SIZE] = "";

	if (q->class != DNS_CLASS_IN || q->type == DNS_TYPE_AXFR || q->type == DNS_TYPE_IXFR || q->type == DNS_TYPE_OPT)
		return DNS_REFUSED;
	bool is_text = dns_name_text(q, name, sizeof name), own = is_text && is_own(name);

	for (size_t i = 0; !own && i < ARRAY_LEN(never_asked); i++) {
		if (dns_name_ends(q, never_asked[i]))
			return DNS_NXDOMAIN;
	}
	if (c && (!is_text || !client_may_ask(c, str_of(name)))) {
		if (q->type == DNS_TYPE_A) /* report only one of the queries that a program sends for a name */
			egress_client_refused(c, name, 0, 0, "name is not allowed");
		return DNS_NXDOMAIN;
	}
	if (own)
		return q->type == DNS_TYPE_A ? SERVE_NAMES : DNS_NOERROR;
	/* These records may carry an ECH key, which would hide the server name from the proxy. */
	if (c && (q->type == DNS_TYPE_SVCB || q->type == DNS_TYPE_HTTPS))
		return DNS_NOERROR;
	/* Sandboxes have no IPv6: programs would only wait for an unreachable address. */
	if (q->type == DNS_TYPE_AAAA)
		return DNS_NOERROR;
	return SERVE_FORWARD;
}
