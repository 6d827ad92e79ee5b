/* SPDX-License-Identifier: Apache-2.0 */
/* oidc/claims: what an ID token must say, and what its user may do. No I/O. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ipc/oidc.h"

struct oidc_options;

/* The claims of a token with a good signature. -EINVAL: it is not for this log-in. skew_s: how wrong clocks may be. */
int claims_check(const json_t *claims, const struct oidc_options *o, const char *nonce, uint64_t now_s, struct err *e);

/* Whether the claims lack the user's name or groups, or what is said about the email address. */
bool claims_lack(const json_t *claims, const struct oidc_options *o);

/* Adds what the user's page of the provider says and the token does not. -EINVAL: it is of another user. */
int claims_add(json_t *claims, const json_t *more, struct err *e);

/* Who it is, and the role of the first rule that fits. -EINVAL: no name; -EPERM: no role. */
int claims_user(const json_t *claims, const struct oidc_options *o, struct oi_done *ret, struct err *e);
