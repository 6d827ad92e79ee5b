/* SPDX-License-Identifier: Apache-2.0 */
/* net_ct: the host's connection tracking table. */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* Deletes every connection that began at this address: the next sandbox with that address must neither be
 * reachable through them nor have them counted as its own. */
int ct_forget(uint32_t ip, struct err *e);
