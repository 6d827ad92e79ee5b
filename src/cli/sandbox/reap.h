/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/reap: which sandboxes nobody has used for a while. No I/O. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/atoll.h"

/* Whether the last call into it is idle_s or more before now. A sandbox of which that is not known counts from its
 * start. */
bool reap_is_idle(const struct atoll_info *i, uint64_t now_ms, uint64_t idle_s);
