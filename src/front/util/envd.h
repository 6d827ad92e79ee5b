/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/envd: the numbers by which clients know what is in a sandbox. */
#pragma once

#define ENVD_VERSION "0.6.13" /* what atoll-init implements, in the reference's counting */
#define CLIENT_ID "6532622b"  /* as the reference: clients only carry it around */

#define PORT_ENVD 49983
#define PORT_INTERPRETER 49999
