/* SPDX-License-Identifier: Apache-2.0 */
/* network: what a sandbox may reach. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct unit;

int unit_enforce(struct unit *sb, struct err *e); /* its policy, in an engine that does not have it yet */
void unit_told(struct unit *sb);                  /* atoll-egress has the policy: answers who waits for that */

/* policy: checked bytes; none if n is 0. The front is answered when the policy is in force, or when it failed
 * and the old one still is. If this call fails, the caller answers. -EBUSY: too many changes wait. */
int unit_network(struct unit *sb, uint32_t seq, bool no_internet, const void *policy, size_t n, struct err *e);
void unit_network_end(struct unit *sb); /* the sandbox has ended: answers pending changes */
