/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/secrets: values that are put into requests on their way out of a sandbox, and never into it.
 *
 * A header value of network.rules may hold "${e2b.secrets.NAME}": what stands there is the value of the team's
 * secret of that name at the time of the request. */
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

/* Blanks around it cut off, in lower case. -EINVAL: not a name, or one that looks like an id. */
int secret_name(struct str text, char ret[SECRET_NAME_MAX + 1]);

bool secret_value_ok(struct str value); /* can stand in a header: no control characters, no blanks at its ends */

/* The sealed value of a row. */
void secret_seal(const struct links *l, const char *team, const char *id, struct str value, struct buf *out);

/* Appends the text with its placeholders filled in. *ret_secret: there was one. -EINVAL: a placeholder is malformed;
 * -ENOTSUP: it asks for an identity token; -ENOENT: there is no such secret, whose name the text of e tells. With l
 * NULL only the form is checked. */
int secrets_fill(const struct links *l, const char *team, struct str text, struct buf *out, bool *ret_secret,
    struct err *e);
