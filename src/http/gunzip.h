/* SPDX-License-Identifier: Apache-2.0 */
/* gunzip: decodes a stream of "Content-Encoding: gzip" in constant memory. No I/O. */
#pragma once

#include "base/buf.h"
#include "base/str.h"

struct gunzip;

typedef int gunzip_fn(void *user, struct str data);

struct gunzip *gunzip_new(void);                                             /* NULL: out of memory */
int gunzip_feed(struct gunzip *g, struct str in, gunzip_fn *fn, void *user); /* 0, -EBADMSG, or what fn returned */
int gunzip_end(const struct gunzip *g);                                      /* -EBADMSG: truncated */
void gunzip_free(struct gunzip *g);                                          /* NULL is fine */

int gunzip_all(struct str in, struct buf *out); /* -EBADMSG, -EFBIG: does not fit into out, -ENOMEM */
