/* SPDX-License-Identifier: Apache-2.0 */
/* upstream_tls: the client side of TLS to outside hosts, whose certificates are verified against the host's
 * authorities. */
#pragma once

#include <openssl/ssl.h>

#include "base/err.h"

/* Called once, before the process is confined. ca_file: additional authorities; "": none. */
int upstream_tls_open(const char *ca_file, struct err *e);
SSL *upstream_tls_connect(const char *host); /* NULL: out of memory */

/* TLS to a proxy, by its name or address. ca: certificates (PEM) of the only trusted authorities; NULL: the host's
 * own. NULL: out of memory, or no certificate in ca. */
SSL *upstream_tls_proxy(const char *host, const char *ca);
