/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/dial_tls: the handshake with a server on a port of a sandbox that speaks HTTPS itself
 * (network.httpsPorts).
 *
 * Its certificate is not looked at: what is reached is decided by the sandbox and the port, and whoever is inside
 * could make any certificate. */
#pragma once

#include "base/err.h"

struct dial_tls;
struct loop;
struct stream;

int dial_tls_prepare(struct err *e); /* once, while there are files to read */

/* A stream that can be written through, the receiver's now, with reading off; NULL: nobody there speaks TLS. */
typedef void dial_tls_fn(void *user, struct stream *s);

/* Owns fd, which is connected. fn is called once, never from in here; it is gone then. NULL: no memory */
struct dial_tls *dial_tls_new(struct loop *l, int fd, dial_tls_fn *fn, void *user);
void dial_tls_free(struct dial_tls *d); /* fn will not be called; NULL is fine */
