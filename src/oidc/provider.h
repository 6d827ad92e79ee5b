/* SPDX-License-Identifier: Apache-2.0 */
/* oidc/provider: what a provider says about itself (OpenID Connect Discovery), and the URLs and bodies made of it. No
 * I/O. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "ipc/oidc.h"

struct oidc_options;

#define ENDPOINT_SIZE 1024

struct provider {
	char authorization[ENDPOINT_SIZE], token[ENDPOINT_SIZE], keys[ENDPOINT_SIZE];
	char userinfo[ENDPOINT_SIZE], end_session[ENDPOINT_SIZE]; /* "": it has none */
	bool sends_issuer;                                        /* in the answer to the browser (RFC 9207) */
	bool secret_in_body;
};

/* -EINVAL: it is no such document, of another issuer, or an address in it is not acceptable. */
int provider_parse(struct str json, const char *issuer, struct provider *ret, struct err *e);

/* Where its document is. */
void provider_put_discovery(struct buf *out, const char *issuer);

/* Where a browser logs in and out. */
void provider_put_login(struct buf *out, const struct provider *p, const struct oidc_options *o,
    const struct oi_ask *ask);
void provider_put_logout(struct buf *out, const struct provider *p, const struct oidc_options *o, const char *back);

/* The request that exchanges a code for tokens: its body, and the value of its Authorization field, if it has one. */
void provider_put_exchange(struct buf *body, struct buf *authorization, const struct provider *p,
    const struct oidc_options *o, struct str secret, const struct oi_ask *ask);
