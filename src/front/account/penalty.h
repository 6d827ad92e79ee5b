/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/penalty: addresses from which wrong keys come wait longer for each further answer. No I/O.
 *
 * Only refusals are slowed down: whoever shares an address with a guesser (a proxy, an office) and has a good key
 * notices nothing. The table has a fixed size; when it is full the address that was quiet for longest is forgotten. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define PENALTY_FREE 5 /* mistakes that cost nothing */
#define PENALTY_MAX_MS 2000
#define PENALTY_WAITING_MAX \
	16 /* answers of one address that are held back at once; further ones are refused with 429 */

struct penalties;

struct penalty_addr {
	uint8_t bytes[16]; /* IPv4 mapped; of IPv6 the network of 64 bits */
};

struct penalties *penalties_new(void);
void penalties_free(struct penalties *p);

/* zeros for what is no internet address */
void penalty_addr(const struct sockaddr_storage *from, struct penalty_addr *ret);

/* A wrong key came: for how long to hold back the answer; -1: too many are held back already. A positive delay must be
 * followed by penalty_over() when the answer has gone. */
int penalty_wrong(struct penalties *p, const struct penalty_addr *a, uint64_t now_ms);
void penalty_over(struct penalties *p, const struct penalty_addr *a);
