/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/envd: version and ids that clients see. */
#pragma once

#define ENVD_VERSION "0.6.13" /* the version of E2B's envd that atoll-init corresponds to */
#define CLIENT_ID "6532622b"  /* the same as E2B's: clients do not interpret it */

#define PORT_ENVD 49983
#define PORT_INTERPRETER 49999
