/* SPDX-License-Identifier: Apache-2.0 */
/* preamble: the first 40 bytes of a connection to atoll-init in a sandbox that has a kernel of its own.
 *
 * There atoll-init listens on a TCP port of the sandbox's address, which programs inside can reach too. The warden,
 * which makes the connection, proves with the sandbox's token that it is the warden, and says what follows:
 *
 *	32 bytes	token
 *	1 byte		version, 1
 *	1 byte		kind: what follows on this connection
 *	2 bytes		port, big endian; 0 unless the kind has one
 *	4 bytes		0 */
#pragma once

#include <stdint.h>

#define PREAMBLE_SIZE 40
#define PREAMBLE_TOKEN 32
#define PREAMBLE_PORT 49982 /* of atoll-init */

enum preamble_kind {
	PREAMBLE_API = 0,   /* requests for the API of atoll-init */
	PREAMBLE_RELAY = 1, /* one byte, 0, then those of a connection to that port on the sandbox's loopback */
	PREAMBLE_RENEW = 2, /* the token that is valid from then on; the answer is one byte, 0, and the end */
};

struct preamble {
	uint8_t kind;  /* enum preamble_kind */
	uint16_t port; /* of PREAMBLE_RELAY */
};

void preamble_write(const struct preamble *p, const uint8_t token[PREAMBLE_TOKEN], uint8_t out[PREAMBLE_SIZE]);

/* 0; -EACCES: another token; -EINVAL: anything else that is wrong. The time it takes says nothing about the token. */
int preamble_check(const uint8_t in[PREAMBLE_SIZE], const uint8_t token[PREAMBLE_TOKEN], struct preamble *ret);
