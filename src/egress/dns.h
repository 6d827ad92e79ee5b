/* SPDX-License-Identifier: Apache-2.0 */
/* dns: the part of the message format (RFC 1035, 6891) that a forwarder needs: parses queries, checks answers.
 *
 * No I/O. A query is parsed and rebuilt, so nothing that a sandbox wrote is forwarded except the name, type and
 * class it asks for, two flags and its UDP size. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define DNS_HEADER 12
#define DNS_NAME_MAX 255 /* in wire form, with the lengths and the root */
#define DNS_UDP_MIN 512  /* what every client accepts */
#define DNS_UDP_MAX 1232 /* what we accept and advertise: fits any path without fragmentation */
#define DNS_TCP_MAX 65535
#define DNS_QUERY_MAX (DNS_HEADER + DNS_NAME_MAX + 4 + 11)

enum {
	DNS_TYPE_A = 1,
	DNS_TYPE_AAAA = 28,
	DNS_TYPE_OPT = 41,
	DNS_TYPE_SVCB = 64,
	DNS_TYPE_HTTPS = 65,
	DNS_TYPE_IXFR = 251,
	DNS_TYPE_AXFR = 252,
};
enum { DNS_CLASS_IN = 1 };
enum { DNS_NOERROR = 0, DNS_FORMERR = 1, DNS_SERVFAIL = 2, DNS_NXDOMAIN = 3, DNS_NOTIMP = 4, DNS_REFUSED = 5 };

struct dns_query {
	uint16_t id;
	uint16_t type, class;
	uint16_t udp_size;            /* the size that the client accepts over UDP */
	bool recursion, checking_off; /* RD, CD */
	bool edns, dnssec_ok;
	uint8_t n_name; /* bytes of the name in wire form */
	uint8_t name[DNS_NAME_MAX];
};

/* Returns 0; -ENOMSG: no header, or not a query: do not answer; -EBADMSG: answer FORMERR; -EOPNOTSUPP: answer
 * NOTIMP. In the last two cases ret->id is set and ret->n_name is 0. */
int dns_parse_query(const void *p, size_t n, struct dns_query *ret);

/* The query as we send it, with our own id. Returns its length. */
size_t dns_build_query(const struct dns_query *q, uint16_t id, uint8_t out[DNS_QUERY_MAX]);

/* Checks that this is an answer to what dns_build_query(q, id) made. 0 or -EBADMSG. */
struct dns_answer {
	uint8_t rcode;
	bool truncated;
};
int dns_check_answer(const void *p, size_t n, const struct dns_query *q, uint16_t id, struct dns_answer *ret);

/* An answer of our own without records: header, the question if there was one, OPT if the client sent one. */
size_t dns_build_reply(const struct dns_query *q, uint8_t rcode, bool truncated, uint8_t out[DNS_QUERY_MAX]);

/* An answer of our own with one address. */
#define DNS_ADDRESS_MAX (DNS_QUERY_MAX + 16)
size_t dns_build_address(const struct dns_query *q, uint32_t ip, uint32_t ttl_s, uint8_t out[DNS_ADDRESS_MAX]);

/* Whether the last label of the name is `label` (lower case), as "localhost" in a.b.LocalHost. */
bool dns_name_ends(const struct dns_query *q, const char *label);

/* The name as text in lower case, without a trailing dot. false: it has bytes that are not allowed in a host name. */
bool dns_name_text(const struct dns_query *q, char *ret, size_t size);

/* Makes a query of our own. -EINVAL: not a name. */
int dns_query_for(struct str name, uint16_t type, struct dns_query *ret);

/* The addresses in a checked answer, and their TTL. Returns how many, at most max, or -EBADMSG. */
int dns_addresses(const void *p, size_t n, uint32_t *ret, size_t max, uint32_t *ret_ttl_s);
