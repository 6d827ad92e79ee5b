/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/reap: finds idle sandboxes. No I/O. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/atoll.h"

/* True if the last call into the sandbox was idle_s or more ago. If this time is unknown, the sandbox's start counts.
 */
bool reap_is_idle(const struct atoll_info *i, uint64_t now_ms, uint64_t idle_s);
