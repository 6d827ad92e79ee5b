/* SPDX-License-Identifier: Apache-2.0 */
/* meta: key=value metadata of a file, stored as extended attributes "user.e2b.<key>". */
#pragma once

#include <jansson.h>

#include "base/err.h"

struct http_headers;

#define META_PREFIX "user.e2b."
#define META_KEY_MAX 246    /* XATTR_NAME_MAX (255) less the prefix */
#define META_TOTAL_MAX 4096 /* bytes of names with prefix, and of values */

/* Parses the X-Metadata-<key> headers into an object, keys in lower case. -EINVAL with a message for the client. */
int meta_from_headers(const struct http_headers *h, json_t **ret, struct err *e);

json_t *meta_read(const char *path);       /* new object, or NULL when there is none; links are followed */
int meta_write(int fd, const json_t *set); /* replaces the whole set; -EOPNOTSUPP: not supported there */
