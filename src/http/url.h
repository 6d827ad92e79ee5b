/* SPDX-License-Identifier: Apache-2.0 */
/* http/url: percent decoding and query strings. NUL and malformed escapes are refused. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

/* plus_is_space for queries. 0, -EINVAL (malformed escape) or -EILSEQ (decodes to a NUL). */
int url_decode(struct str in, bool plus_is_space, struct buf *out);

/* The value of the first parameter with that name, decoded and NUL-terminated in *ret (malloc). Returns 0,
 * -ENOENT, or as url_decode(). */
int query_get(struct str query, const char *name, char **ret);

/* Iterates over "a=b&c": false at the end. Names and values are still encoded. */
bool query_next(struct str *query, struct str *ret_name, struct str *ret_value);

void url_encode(struct buf *out, struct str in); /* all except unreserved characters */
