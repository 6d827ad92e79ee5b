/* SPDX-License-Identifier: Apache-2.0 */
/* http/url: percent decoding and query strings. Bytes in, owned text out; NUL and bad escapes are refused. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

/* plus_is_space for queries. 0, -EINVAL (bad escape) or -EILSEQ (decodes to a NUL). */
int url_decode(struct str in, bool plus_is_space, struct buf *out);

/* The value of the first parameter with that name, decoded and NUL-terminated into *ret (malloc).
 * 0, -ENOENT, or as url_decode(). */
int query_get(struct str query, const char *name, char **ret);

/* Walks "a=b&c": false at the end. Still encoded. */
bool query_next(struct str *query, struct str *ret_name, struct str *ret_value);

void url_encode(struct buf *out, struct str in); /* all but unreserved characters */
