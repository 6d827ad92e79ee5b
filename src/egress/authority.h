/* SPDX-License-Identifier: Apache-2.0 */
/* authority: a certificate authority for one sandbox, made of a seed, and the certificates that it gives to hosts
 * whose requests are changed. The sandbox trusts it; nobody else does. Its key is never outside of this process. */
#pragma once

#include <stdint.h>

#include <openssl/ssl.h>

#include "ipc/rules.h"

struct authority;

struct authority *authority_new(const uint8_t seed[RULES_SEED_SIZE],
    const char *id);                                  /* NULL: no memory, or the library does not work */
void authority_free(struct authority *a);             /* NULL is fine */
const char *authority_pem(const struct authority *a); /* its certificate */

/* Makes the server's end of a TLS connection for that host; NULL as above. */
SSL *authority_accept(struct authority *a, const char *host);
