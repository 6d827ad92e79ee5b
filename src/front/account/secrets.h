/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/secrets: values that are added to requests on their way out of a sandbox and never enter it.
 *
 * A header value in network.rules may contain "${e2b.secrets.NAME}". It is replaced by the value that the team's
 * secret of that name has at the time of the request. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct links;
struct secret_row;

#define SECRET_NAME_MAX 128
#define SECRET_VALUE_MAX 4096
#define SECRETS_PER_TEAM 1000

/* Trims blanks and converts to lower case. Returns -EINVAL if it is no valid name, or looks like an id. */
int secret_name(struct str text, char ret[SECRET_NAME_MAX + 1]);

/* whether it is valid in a header: no control characters, no blanks at the ends */
bool secret_value_ok(struct str value);

/* Encrypts the value for its row. */
void secret_seal(const struct links *l, const char *team, const char *id, struct str value, struct buf *out);

/* Appends the text with its placeholders replaced. *ret_secret: there was at least one. Returns -EINVAL if a
 * placeholder is malformed, -ENOTSUP if it asks for an identity token, -ENOENT if there is no such secret (the
 * text of e names it). With l NULL only the syntax is checked. */
int secrets_fill(const struct links *l, const char *team, struct str text, struct buf *out, bool *ret_secret,
    struct err *e);
