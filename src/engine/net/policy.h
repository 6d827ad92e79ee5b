/* SPDX-License-Identifier: Apache-2.0 */
/* net_policy: the firewall's part of one sandbox's policy: two chains of its own, referenced by maps of the table.
 *
 *	rulesK		for forwarded packets: returns for allowed nets, then refuses the other nets, then the rest
 *	divertK		new connections that are diverted to the host's proxy
 *
 * Sandboxes without a policy have neither. A change is one transaction. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct engine_policy;

/* Formats it as text. p NULL: removes the chains; it is no error if there are none. silent: no internet at all. */
void net_policy_text(struct buf *out, uint32_t instance, uint32_t slot, uint16_t proxy_port, bool silent,
    const struct engine_policy *p);
int net_policy_set(uint32_t instance, uint32_t slot, uint16_t proxy_port, bool silent, const struct engine_policy *p,
    struct err *e);
