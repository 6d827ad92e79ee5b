/* SPDX-License-Identifier: Apache-2.0 */
/* inet: IPv4 ranges as text and as numbers in host byte order, and which of them are nobody's business. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct inet_range {
	uint32_t ip; /* host bits are zero */
	uint8_t len; /* of the prefix */
};

/* "1.2.3.4" or "1.2.3.0/24"; host bits are cleared. -EINVAL. */
int inet_parse(struct str text, struct inet_range *ret);
bool inet_is_v6(struct str text); /* an IPv6 address or range */

#define INET_TEXT_SIZE 16
const char *inet_text(uint32_t ip, char ret[INET_TEXT_SIZE]); /* "1.2.3.4", and it is ret that comes back */

/* "443" or "8000-8080", within 1 to 65535. -EINVAL. */
int inet_ports_parse(struct str text, uint16_t *ret_lo, uint16_t *ret_hi);

bool inet_in(struct inet_range r, uint32_t ip);
bool inet_overlap(struct inet_range a, struct inet_range b);

/* Where a sandbox may not go although the host could: other sandboxes, the neighbourhood, metadata services, multicast.
 * The documentation ranges are not in the list: nothing lives there but test set-ups, which want to be reached. */
#define INET_PRIVATE_MAX 16
size_t inet_private(struct inet_range ret[INET_PRIVATE_MAX]);
bool inet_is_private(uint32_t ip);

/* Of those, what no operator can open: the host itself, link-local and metadata addresses, multicast, the sandboxes. */
bool inet_never_open(struct inet_range r);

/* The same of an address of either family; of what is neither: true. never_open: as above, but for the loopback
 * addresses of the host, which are the operator's own. */
struct sockaddr;
bool inet_addr_is_private(const struct sockaddr *sa);
bool inet_addr_never_open(const struct sockaddr *sa);

/* Is it an address of this host, public ones included? Asks the kernel for the way there. */
bool inet_addr_is_own(const struct sockaddr *sa);
