/* SPDX-License-Identifier: Apache-2.0 */
/* upstream_tls: the client's end of TLS towards the hosts outside, which must show a certificate for their name that
 * the host's authorities have given. */
#pragma once

#include <openssl/ssl.h>

#include "base/err.h"

/* Once, before the process is confined. ca_file: more authorities than the host's own; NULL: none. */
int upstream_tls_open(const char *ca_file, struct err *e);
SSL *upstream_tls_connect(const char *host); /* NULL: no memory */

/* To a proxy, by its name or address. ca: the certificates (PEM) of the authorities that count; NULL: the host's own.
 * NULL: no memory, or nothing in there. */
SSL *upstream_tls_proxy(const char *host, const char *ca);
