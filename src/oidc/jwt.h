/* SPDX-License-Identifier: Apache-2.0 */
/* oidc/jwt: signed tokens (JWS in compact form) and the keys that check them (JWK sets). No I/O.
 *
 * The algorithm is one of a short list of signatures with public keys: "none" and HMACs are refused, so that a public
 * key can never be taken for a shared secret. A key is used with the algorithms of its own type only, and with the one
 * that it names, if it names one. What a token says about where its key is (jku, jwk, x5u, x5c) is ignored. */
#pragma once

#include <jansson.h>
#include <openssl/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define JWT_MAX (64 * 1024)
#define JWKS_MAX 64 /* keys of a set; further ones are ignored */
#define KID_SIZE 256
#define ALG_SIZE 8

struct jwt {
	char alg[ALG_SIZE], kid[KID_SIZE]; /* kid "": none */
	struct str signed_part;            /* points into the text */
	struct buf signature;
	json_t *claims; /* an object; not to be believed before jwt_verify() */
};

/* -EINVAL: it is no such token, or wants something that is refused. */
int jwt_parse(struct str text, struct jwt *ret, struct err *e);
void jwt_done(struct jwt *t); /* allowed on a zeroed one */

struct jwk {
	char kid[KID_SIZE], alg[ALG_SIZE]; /* "": none */
	EVP_PKEY *key;
};

struct jwks {
	struct jwk v[JWKS_MAX];
	size_t n;
};

/* Keys of other types and uses, and weak ones, are left out. -EINVAL: it is no set of keys. */
int jwks_parse(struct str json, struct jwks *ret, struct err *e);
void jwks_done(struct jwks *s); /* allowed on a zeroed one */

/* -ENOENT: the set has no key for it. -EBADMSG: the signature is wrong. -EINVAL: refused. */
int jwt_verify(const struct jwt *t, const struct jwks *keys, struct err *e);
