/* SPDX-License-Identifier: Apache-2.0 */
/* preamble: written and checked. */
#include "base/preamble.h"

#include <errno.h>
#include <string.h>

enum {
	AT_VERSION = PREAMBLE_TOKEN,
	AT_KIND,
	AT_PORT,
	AT_ZERO = AT_PORT + 2,
};

#define VERSION 1

_Static_assert(AT_ZERO + 4 == PREAMBLE_SIZE, "layout of a preamble");

void preamble_write(const struct preamble *p, const uint8_t token[PREAMBLE_TOKEN], uint8_t out[PREAMBLE_SIZE])
{
	memset(out, 0, PREAMBLE_SIZE);
	memcpy(out, token, PREAMBLE_TOKEN);
	out[AT_VERSION] = VERSION;
	out[AT_KIND] = p->kind;
	out[AT_PORT] = (uint8_t)(p->port >> 8);
	out[AT_PORT + 1] = (uint8_t)p->port;
}

static int differs(const uint8_t *a, const uint8_t *b, size_t n)
{
	volatile uint8_t any = 0; /* volatile: the compiler must not stop at the first difference */

	for (size_t i = 0; i < n; i++)
		any |= a[i] ^ b[i];
	return any;
}

int preamble_check(const uint8_t in[PREAMBLE_SIZE], const uint8_t token[PREAMBLE_TOKEN], struct preamble *ret)
{
	struct preamble p = { .kind = in[AT_KIND], .port = (uint16_t)(in[AT_PORT] << 8 | in[AT_PORT + 1]) };

	if (differs(in, token, PREAMBLE_TOKEN))
		return -EACCES;
	if (in[AT_VERSION] != VERSION || in[AT_ZERO] || in[AT_ZERO + 1] || in[AT_ZERO + 2] || in[AT_ZERO + 3])
		return -EINVAL;
	if (p.kind != PREAMBLE_API && p.kind != PREAMBLE_RELAY && p.kind != PREAMBLE_RENEW)
		return -EINVAL;
	if ((p.kind == PREAMBLE_RELAY) != (p.port != 0))
		return -EINVAL;
	*ret = p;
	return 0;
}
