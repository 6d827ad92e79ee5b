/* SPDX-License-Identifier: Apache-2.0 */
/* inet: IPv4 ranges as text and as numbers in host byte order, and the list of private ranges. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct inet_range {
	uint32_t ip; /* host bits are zero */
	uint8_t len; /* prefix length */
};

#define INET_RANGES_MAX 64

struct inet_ranges {
	uint32_t n;
	struct inet_range v[INET_RANGES_MAX];
};

/* "1.2.3.4" or "1.2.3.0/24"; host bits are cleared. -EINVAL. */
int inet_parse(struct str text, struct inet_range *ret);
bool inet_is_v6(struct str text); /* an IPv6 address or range */

#define INET_TEXT_SIZE 16
const char *inet_text(uint32_t ip, char ret[INET_TEXT_SIZE]); /* "1.2.3.4"; returns ret */

/* "443" or "8000-8080", within 1 to 65535. -EINVAL. */
int inet_ports_parse(struct str text, uint16_t *ret_lo, uint16_t *ret_hi);

bool inet_in(struct inet_range r, uint32_t ip);
bool inet_overlap(struct inet_range a, struct inet_range b);

/* Ranges that a sandbox may not reach although the host could: other sandboxes, local networks, metadata
 * services, multicast. The documentation ranges are not in the list: only test set-ups use them, and they must
 * be reachable. */
#define INET_PRIVATE_MAX 16
size_t inet_private(struct inet_range ret[INET_PRIVATE_MAX]);
bool inet_is_private(uint32_t ip);

/* The private ranges that no operator can open: the host itself, link-local and metadata addresses, multicast,
 * the sandboxes. */
bool inet_never_open(struct inet_range r);

/* The same for an address of either family; true for any other family. inet_addr_never_open() excludes the
 * loopback addresses of the host, which the operator may open. */
struct sockaddr;
bool inet_addr_is_private(const struct sockaddr *sa);
bool inet_addr_never_open(const struct sockaddr *sa);

/* Returns whether it is an address of this host, including public ones. Asks the kernel for the route. */
bool inet_addr_is_own(const struct sockaddr *sa);
