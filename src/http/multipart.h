/* SPDX-License-Identifier: Apache-2.0 */
/* http/multipart: a streaming parser of multipart/form-data; constant memory, no I/O. */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct multipart;

struct multipart_ops {
	/* filename.p is NULL if the part has none; raw UTF-8, quoted-string escapes removed. A non-zero return
	 * stops the parser with that value. */
	int (*on_part)(void *user, struct str name, struct str filename);
	int (*on_data)(void *user, struct str data);
	int (*on_part_end)(void *user);
};

/* content_type: the request's field. -EINVAL: not form-data, or no usable boundary. */
int multipart_new(struct str content_type, const struct multipart_ops *ops, void *user, struct multipart **ret);
int multipart_feed(struct multipart *m, struct str data); /* 0, -EBADMSG, or what a callback returned */
int multipart_end(struct multipart *m);                   /* -EBADMSG unless the closing boundary was seen */
void multipart_free(struct multipart *m);
