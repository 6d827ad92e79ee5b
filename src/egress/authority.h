/* SPDX-License-Identifier: Apache-2.0 */
/* authority: the certificate authority of one sandbox, derived from a seed, and the certificates that it issues
 * for hosts whose requests are changed. Only the sandbox trusts it. Its key never leaves this process. */
#pragma once

#include <stdint.h>

#include <openssl/ssl.h>

#include "ipc/rules.h"

struct authority;

struct authority *authority_new(const uint8_t seed[RULES_SEED_SIZE],
    const char *id);                                  /* NULL: out of memory, or OpenSSL failed */
void authority_free(struct authority *a);             /* NULL is fine */
const char *authority_pem(const struct authority *a); /* its certificate, in PEM */

/* Makes the server side of a TLS connection for that host; NULL as above. */
SSL *authority_accept(struct authority *a, const char *host);
