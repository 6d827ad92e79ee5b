/* SPDX-License-Identifier: Apache-2.0 */
/* agent/confine: confines atoll-agent. It cannot execute programs or create processes. It has no network beyond the
 * sockets that the front passes, and no files outside one directory. */
#pragma once

#include "base/err.h"

int agent_confine(const char *state_dir, struct err *e);
