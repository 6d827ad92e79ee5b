/* SPDX-License-Identifier: Apache-2.0 */
/* oci/auth: a registry's authentication challenges and a user's credentials. No I/O. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum challenge_kind { CHALLENGE_NONE, CHALLENGE_BASIC, CHALLENGE_BEARER };

struct challenge { /* of a WWW-Authenticate header */
	enum challenge_kind kind;
	char realm[512], service[256], scope[512]; /* of Bearer: URL of the token service, service name, scope */
};

/* The first supported challenge in the header; CHALLENGE_NONE if there is none or the header is malformed. */
void challenge_parse(struct str header, struct challenge *ret);

struct creds {
	char *user, *password; /* NULL: none */
	/* NULL: no AWS credentials. These are exchanged for a password first (aws.h). */
	char *aws_id, *aws_secret, *aws_region;
};

/* Parses the `fromImageRegistry` object of the SDKs; {} for none. Kinds: "registry" (user and password), "gcp"
 * (the key of a service account is the password), "aws" (a key, its secret and a region). */
int creds_read(struct str json, struct creds *ret, struct err *e);
bool creds_any(const struct creds *c);
void creds_done(struct creds *c); /* overwrites the memory */

/* "Authorization: Basic …" */
void creds_put_basic(struct buf *out, const struct creds *c);

/* The token in the answer of a token service (malloc). */
int token_read(struct str json, char **ret, struct err *e);
