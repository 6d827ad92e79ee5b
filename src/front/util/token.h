/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/token: creation and comparison of secrets, and the signatures of file URLs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

#define SHA256_SIZE 32
#define TOKEN_SIZE 33     /* 32 characters and a NUL */
#define SIGNATURE_SIZE 48 /* "v1_", 43 characters of base64, a NUL */

void sha256(struct str s, uint8_t ret[SHA256_SIZE]); /* aborts if libcrypto fails */
bool secret_eq(struct str a, struct str b);          /* in constant time */
void token_make(char ret[TOKEN_SIZE]);

/* The signature of a file URL over path, operation ("read" or "write"), user, token and, if expiry.p is set, the
 * expiry as written in the query. */
void signature_make(struct str path, const char *op, struct str user, struct str token, struct str expiry,
    char ret[SIGNATURE_SIZE]);

/* The same for many tokens: path, operation and user are hashed only once. */
struct signing;
struct signing *signing_new(struct str path, const char *op, struct str user);
void signing_make(struct signing *s, struct str token, struct str expiry, char ret[SIGNATURE_SIZE]);
void signing_free(struct signing *s); /* NULL is fine */
