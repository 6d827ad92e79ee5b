/* SPDX-License-Identifier: Apache-2.0 */
/* http/tls_filter: a filter for streams around one end of a TLS connection. */
#pragma once

#include <stdbool.h>

#include <openssl/ssl.h>

#include "base/str.h"

struct stream_filter;

/* Owns ssl, also on failure (NULL: no memory), which knows already which end it is. early: bytes of the peer that
 * were read before. The handshake begins with the peer's next bytes, or when the stream is first written to, be it
 * nothing at all: so a client says its first word. Until the stream's on_ready nothing can be written through. gone
 * is called when the filter is freed; may be NULL. */
struct stream_filter *tls_filter_new(SSL *ssl, struct str early, void (*gone)(void *user), void *user);
SSL *tls_filter_ssl(struct stream_filter *f);

bool tls_filter_prepare(void); /* what is made once, before the process is confined; false: no memory */
