/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/certs: the certificate that the TLS doors show: fetched from the warden as open files, and again when it
 * is renewed.
 *
 * A new one that cannot be used (half written, a key that does not fit yet) leaves the old one in use and is tried
 * again for a minute. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct certs;
struct http_secure;
struct links;

struct certs *certs_new(struct links *l, const uint8_t *ticket_secret); /* NULL: out of memory */

/* Fetches it for the first time; done is called once, also when there is none that can be used: then TLS connections
 * are closed at once until there is, and everything else is served. */
void certs_begin(struct certs *c, void (*done)(void *user), void *user);
void certs_again(struct certs *c); /* the files may have changed */

struct http_secure *certs_secure(struct certs *c); /* for listeners */
int64_t certs_not_after(const struct certs *c);    /* end of its validity, seconds of the epoch */
void certs_free(struct certs *c);                  /* NULL is fine */
