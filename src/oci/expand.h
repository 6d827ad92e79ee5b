/* SPDX-License-Identifier: Apache-2.0 */
/* oci/expand: a layer as it travels (gzip, zstd or plain, told by its first bytes) becomes an archive. Bytes in, bytes
 * out. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "oci/digest.h"

/* Nothing honest shrinks that much over so many bytes: an image that does is a bomb. (gzip cannot do better than
 * 1:1032.) */
#define EXPAND_RATIO_MAX 400
#define EXPAND_RATIO_FROM (128ull << 20) /* bytes that come out before that counts */

struct expand;

/* Non-zero ends it and is what expand_put() returns. */
typedef int expand_fn(void *user, const void *p, size_t n);

struct expand *expand_new(uint64_t max_out, expand_fn *fn, void *user); /* NULL: memory */
void expand_free(struct expand *x);                                     /* NULL is fine */

/* -EBADMSG, -EFBIG, or what fn returned */
int expand_put(struct expand *x, const void *p, size_t n, struct err *e);
/* -EBADMSG: cut off. The digest of what came out */
int expand_end(struct expand *x, struct digest *ret_out, struct err *e);
uint64_t expand_out(const struct expand *x); /* bytes */
