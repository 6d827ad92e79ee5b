/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/certs: the certificate of the TLS listeners. The warden passes it as open files, again after each
 * renewal.
 *
 * If a new certificate cannot be used (partly written, or the key does not match yet), the old one stays in use,
 * and the new one is tried again for a minute. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct certs;
struct http_secure;
struct links;

struct certs *certs_new(struct links *l, const uint8_t *ticket_secret); /* NULL: out of memory */

/* Fetches the certificate for the first time. done is called once, also if there is no usable certificate. Then
 * TLS connections are closed at once until there is one; everything else is served. */
void certs_begin(struct certs *c, void (*done)(void *user), void *user);
void certs_again(struct certs *c); /* the files may have changed */

struct http_secure *certs_secure(struct certs *c); /* for listeners */
int64_t certs_not_after(const struct certs *c);    /* end of its validity, in seconds since the epoch */
void certs_free(struct certs *c);                  /* NULL is fine */
