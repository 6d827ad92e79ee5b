/* SPDX-License-Identifier: Apache-2.0 */
/* http/tls_filter: a stream filter for one side of a TLS connection. */
#pragma once

#include <stdbool.h>

#include <openssl/ssl.h>

#include "base/str.h"

struct stream_filter;

/* Owns ssl, also on failure (NULL: out of memory); its side (client or server) must be set. early: bytes of the
 * peer that were already read. The handshake starts with the peer's next bytes, or with the first write to the
 * stream, which may be empty: that is how a client starts. Nothing can be written before the stream's on_ready.
 * gone is called when the filter is freed; may be NULL. */
struct stream_filter *tls_filter_new(SSL *ssl, struct str early, void (*gone)(void *user), void *user);
SSL *tls_filter_ssl(struct stream_filter *f);

void tls_filter_thread_ends(void); /* frees what the calling thread shares between its filters */
bool tls_filter_prepare(void);     /* one-time setup, before the process is confined; false: out of memory */
