/* SPDX-License-Identifier: Apache-2.0 */
/* net_cap: how much a sandbox may send, and how fast; and how much it has.
 *
 * Both are objects of the firewall, a quota and a limit of one slot, which two maps of the table lead to (nft.c).
 * What it sends is counted by the host's end of its link, so a quota that is set again knows what has been used up.
 * Sandboxes without either have no part in this. */
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
/* in place of any before; none is fine */
int net_cap_set(uint32_t instance, uint32_t slot, const struct net_cap *cap, struct err *e);

/* bytes; -ENOENT: it has no link (yet) */
int net_count(const struct slot *s, uint64_t *ret_sent, uint64_t *ret_received);
