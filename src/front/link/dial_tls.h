/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/dial_tls: the TLS handshake with a server in a sandbox that speaks HTTPS itself (network.httpsPorts).
 *
 * The certificate is not verified: the sandbox and the port determine the peer, and code in the sandbox could
 * present any certificate. */
#pragma once

#include "base/err.h"

struct dial_tls;
struct loop;
struct stream;

int dial_tls_prepare(struct err *e); /* to be called once, before the front is confined: it reads files */

/* s: a stream with the handshake done and reading off, now owned by the receiver; NULL: the server does not speak
 * TLS. */
typedef void dial_tls_fn(void *user, struct stream *s);

/* Takes ownership of fd, which is connected. fn is called once, never from inside; the object has been freed by
 * then. Returns NULL if out of memory. */
struct dial_tls *dial_tls_new(struct loop *l, int fd, dial_tls_fn *fn, void *user);
void dial_tls_free(struct dial_tls *d); /* fn will not be called; NULL is fine */
