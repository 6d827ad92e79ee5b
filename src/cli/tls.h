/* SPDX-License-Identifier: Apache-2.0 */
/* cli/tls: where `atoll tls init` leaves what clients need. */
#pragma once

#define TLS_PUBLIC_DEFAULT "/etc/atoll/tls"	/* of the default state directory */
