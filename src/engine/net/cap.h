/* SPDX-License-Identifier: Apache-2.0 */
/* net_cap: limits how much a sandbox may send, and how fast; and counts what it has sent.
 *
 * Both limits are firewall objects, a quota and a limit per slot, referenced by two maps of the table (nft.c).
 * Sent bytes are counted by the host's end of the sandbox's link, so a quota that is set again knows what has been
 * used up. Sandboxes without limits have no such objects. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct slot;

struct net_cap { /* 0: no limit */
	uint64_t bytes, used_bytes;
	uint64_t bytes_s;
};

void net_cap_text(struct buf *out, uint32_t instance, uint32_t slot, const struct net_cap *cap);
/* Replaces any earlier limits; cap may hold none. */
int net_cap_set(uint32_t instance, uint32_t slot, const struct net_cap *cap, struct err *e);

/* In bytes; -ENOENT: it has no link (yet). */
int net_count(const struct slot *s, uint64_t *ret_sent, uint64_t *ret_received);
