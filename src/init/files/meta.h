/* SPDX-License-Identifier: Apache-2.0 */
/* meta: a file's own key=value pairs, kept as extended attributes "user.e2b.<key>". */
#pragma once

#include <jansson.h>

#include "base/err.h"

struct http_headers;

#define META_PREFIX "user.e2b."
#define META_KEY_MAX 246    /* the kernel's 255 for a name, less the prefix */
#define META_TOTAL_MAX 4096 /* names with prefix, and values */

/* The X-Metadata-<key> headers as an object, keys in lower case. -EINVAL with a text for the client. */
int meta_from_headers(const struct http_headers *h, json_t **ret, struct err *e);

json_t *meta_read(const char *path);       /* new object, or NULL when there is none; links are followed */
int meta_write(int fd, const json_t *set); /* replaces the whole set; -EOPNOTSUPP where the file system has none */
