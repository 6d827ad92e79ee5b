/* SPDX-License-Identifier: Apache-2.0 */
/* oci/auth: what a registry asks for before it gives anything, and what a user has to offer. No I/O. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum challenge_kind { CHALLENGE_NONE, CHALLENGE_BASIC, CHALLENGE_BEARER };

struct challenge { /* of a WWW-Authenticate header */
	enum challenge_kind kind;
	char realm[512], service[256], scope[512]; /* of a Bearer: where tokens are, for whom, for what */
};

/* The first one in it that we can answer; what is no header of that kind gives CHALLENGE_NONE. */
void challenge_parse(struct str header, struct challenge *ret);

struct creds {
	char *user, *password; /* NULL: none */
	/* NULL: not those of AWS, which are asked for a password first (aws.h) */
	char *aws_id, *aws_secret, *aws_region;
};

/* The `fromImageRegistry` object of the SDKs; {} for none. Kinds: "registry" (user and password), "gcp" (the key of a
 * service account is a password there), "aws" (a key, its secret and a region). */
int creds_read(struct str json, struct creds *ret, struct err *e);
bool creds_any(const struct creds *c);
void creds_done(struct creds *c); /* overwrites them */

/* "Authorization: Basic …" */
void creds_put_basic(struct buf *out, const struct creds *c);

/* The token in the answer of a token service. Malloc'ed. */
int token_read(struct str json, char **ret, struct err *e);
