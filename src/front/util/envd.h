/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/envd: version, ids and ports that clients see. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ENVD_VERSION "0.6.13" /* the version of E2B's envd that atoll-init corresponds to */
#define CLIENT_ID "6532622b"  /* the same as E2B's: clients do not interpret it */

#define PORT_ENVD 49983
#define PORT_INTERPRETER 49999

/* Whether atoll-init serves that port; the others are servers of the user. */
static inline bool port_is_ours(uint16_t port)
{
	return port == PORT_ENVD || port == PORT_INTERPRETER;
}
