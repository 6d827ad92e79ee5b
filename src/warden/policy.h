/* SPDX-License-Identifier: Apache-2.0 */
/* policy: what a sandbox may reach, stored as the bytes that the front sent, and converted to what the engine
 * can enforce. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct engine_policy;

struct held_policy {
	size_t n;
	char bytes[];
};

struct held_policy *held_policy_new(const void *bytes, size_t n); /* NULL: no memory */

/* Returns whether the policy has names or a proxy in it, so that atoll-egress needs it. NULL: false. */
bool held_policy_proxied(const struct held_policy *h);

/* Nets are copied. Names become the ports on which the proxy has to check for them. */
int policy_for_engine(const struct held_policy *h, struct engine_policy *ret, struct err *e);
