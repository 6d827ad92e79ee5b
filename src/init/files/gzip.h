/* SPDX-License-Identifier: Apache-2.0 */
/* gzip: compresses a stream for "Content-Encoding: gzip", in constant memory. No I/O. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct gzip;

typedef void gzip_fn(void *user, struct str data);

struct gzip *gzip_new(void);                                                       /* NULL: out of memory */
void gzip_feed(struct gzip *g, struct str in, bool last, gzip_fn *fn, void *user); /* last: nothing follows */
void gzip_free(struct gzip *g);                                                    /* NULL is fine */
