/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/penalty: delays refusals for addresses that send wrong keys, longer for each further one. No I/O.
 *
 * Only refusals are delayed: a client with a valid key is not affected if it shares an address with an attacker (a
 * proxy, an office). The table has a fixed size; an address is replaced by another if it had no wrong key for
 * longest. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define PENALTY_FREE 5 /* wrong keys without a delay */
#define PENALTY_MAX_MS 2000
#define PENALTY_WAITING_MAX \
	16 /* refusals that are held back for one address at the same time; further ones are sent at once as 429 */

struct penalties;

struct penalty_addr {
	uint8_t bytes[16]; /* IPv4-mapped; for IPv6 the /64 network */
};

struct penalties *penalties_new(void);
void penalties_free(struct penalties *p);

/* Zeros for anything but an IP address. */
void penalty_addr(const struct sockaddr_storage *from, struct penalty_addr *ret);

/* Counts a wrong key. Returns the delay of the answer in ms, or -1 if too many are held back already. After a
 * positive delay the caller must call penalty_over() when the answer has been sent. */
int penalty_wrong(struct penalties *p, const struct penalty_addr *a, uint64_t now_ms);
void penalty_over(struct penalties *p, const struct penalty_addr *a);
