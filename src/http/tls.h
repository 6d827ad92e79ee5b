/* SPDX-License-Identifier: Apache-2.0 */
/* http/tls: the server side of TLS 1.2 and 1.3 (OpenSSL), as a filter for streams.
 *
 * One struct tls serves any number of listeners. Its certificate can be changed while connections are open: they
 * keep the one they started with. Sessions are resumed by tickets only, so no state is kept per client. The ticket
 * keys are derived from a secret and the time: a process that starts with the same secret accepts the tickets of
 * its predecessor. Each key issues tickets for TLS_TICKET_S, and is accepted for as long again. */
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
	char subject[128]; /* common name, or the first alternative name */
	int64_t not_after; /* seconds since the epoch */
};

struct tls *tls_new(const uint8_t secret[TLS_SECRET_SIZE], bool offer_h2); /* NULL: out of memory */

/* Sets what new connections use. On failure the old certificate stays. The first certificate in the text is the
 * server's, followed by its chain. */
int tls_load(struct tls *t, struct str cert_pem, struct str key_pem, struct tls_cert_info *ret, struct err *e);

struct http_secure *tls_secure(struct tls *t); /* lives as long as t */
/* Connections may be of any thread. */
void tls_thread_ends(void);   /* frees what the calling thread keeps */
void tls_free(struct tls *t); /* its filters may outlive it; NULL is fine */
