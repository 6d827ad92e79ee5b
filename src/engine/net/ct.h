/* SPDX-License-Identifier: Apache-2.0 */
/* net_ct: the host's memory of connections. */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* Forgets every connection that began at this address: whoever gets the address next must neither be reached through
 * them, nor have them counted as its own. */
int ct_forget(uint32_t ip, struct err *e);
