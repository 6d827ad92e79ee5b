/* SPDX-License-Identifier: Apache-2.0 */
/* oci/expand: decompresses a layer (gzip, zstd or uncompressed, detected by its first bytes). No I/O. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "oci/digest.h"

/* The largest ratio that is accepted after EXPAND_RATIO_FROM bytes: no real layer compresses that well over so
 * many bytes, so the image is a bomb. (gzip's limit is 1:1032.) */
#define EXPAND_RATIO_MAX 400
#define EXPAND_RATIO_FROM (128ull << 20) /* output bytes before the ratio is checked */

struct expand;

/* A non-zero return stops the decompression and is returned by expand_put(). */
typedef int expand_fn(void *user, const void *p, size_t n);

struct expand *expand_new(uint64_t max_out, expand_fn *fn, void *user); /* NULL: out of memory */
void expand_free(struct expand *x);                                     /* NULL is fine */

/* -EBADMSG, -EFBIG, or what fn returned */
int expand_put(struct expand *x, const void *p, size_t n, struct err *e);
/* -EBADMSG: truncated. Returns the digest of the output. */
int expand_end(struct expand *x, struct digest *ret_out, struct err *e);
uint64_t expand_out(const struct expand *x); /* bytes */
