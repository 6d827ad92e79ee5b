/* SPDX-License-Identifier: Apache-2.0 */
/* http/tls: the server's end of TLS 1.2 and 1.3 (OpenSSL), as a filter for streams.
 *
 * One struct tls serves any number of listeners. Its certificate can be changed while connections are open: they go on
 * with the one they began with. Sessions are resumed by tickets only, so nothing is kept per client. The keys of the
 * tickets follow from a secret and the time of day: whoever starts with the same secret, such as the next life of this
 * process, takes the tickets of the last one. Each key makes tickets for TLS_TICKET_S, and is good for resuming as long
 * again. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "http/secure.h"

#define TLS_SECRET_SIZE 32
#define TLS_TICKET_S (6 * 3600)
#define TLS_PEM_MAX (256 * 1024) /* a certificate with its chain, or a key */

struct tls;

struct tls_cert_info {
	char subject[128]; /* common name or first name that it is for */
	int64_t not_after; /* seconds of the epoch */
};

struct tls *tls_new(const uint8_t secret[TLS_SECRET_SIZE], bool offer_h2); /* NULL: out of memory */

/* What connections use from now on. On failure the old one stays. The first certificate in the text is the server's,
 * then come those that lead to its root. */
int tls_load(struct tls *t, struct str cert_pem, struct str key_pem, struct tls_cert_info *ret, struct err *e);

struct http_secure *tls_secure(struct tls *t); /* lives as long as t */
void tls_free(struct tls *t);                  /* its filters may live on; NULL is fine */
