/* SPDX-License-Identifier: Apache-2.0 */
/* oci/digest: content digests: SHA-256, written as "sha256:" and 64 hex digits. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"

struct digest {
	uint8_t b[32];
};

#define DIGEST_HEX_SIZE 65
#define DIGEST_TEXT_SIZE (7 + DIGEST_HEX_SIZE)

/* -EINVAL; the error names an unsupported algorithm. */
int digest_parse(struct str text, struct digest *ret, struct err *e);
void digest_hex(const struct digest *d, char out[DIGEST_HEX_SIZE]);
void digest_text(const struct digest *d, char out[DIGEST_TEXT_SIZE]);

static inline bool digest_eq(const struct digest *a, const struct digest *b)
{
	return memcmp(a->b, b->b, sizeof a->b) == 0;
}

/* Incremental hashing. */
struct digest_run;
struct digest_run *digest_run_new(void); /* NULL: out of memory */
void digest_run_put(struct digest_run *r, const void *p, size_t n);
void digest_run_end(struct digest_run *r, struct digest *ret);
void digest_run_free(struct digest_run *r); /* NULL is fine */

void digest_of(struct str bytes, struct digest *ret);
