/* SPDX-License-Identifier: Apache-2.0 */
/* trail/verify: is a chain of records whole? Lines in, the first bad record out; no I/O. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "audit/chain.h"
#include "base/err.h"

struct audit_verify {
	struct audit_seal *seal;
	const struct audit_point *known; /* a record that must be in it, from elsewhere; NULL: none */
	struct audit_point at;           /* the last record so far */
	uint64_t first_seq;              /* 0: nothing was read yet */
	uint8_t first_prev[AUDIT_HASH_SIZE];
	/* torn lines that were mended; times without records, and how many were not written then */
	uint64_t records, repairs, gaps, lost;
	/* what is missing before the first record was dropped on purpose: a record says so */
	bool anchored;
};

/* The next line, without its newline. `file` and `line_no` are for the text. -EBADMSG: e tells which record is bad, and
 * why. */
int audit_verify_line(struct audit_verify *v, struct str line, const char *file, uint64_t line_no, struct err *e);

/* Bytes behind the last newline of the last file. */
int audit_verify_torn(const struct audit_verify *v, size_t bytes, const char *file, struct err *e);

/* All lines were read. whole: it must begin with the first record, or with one before which others were dropped on
 * purpose. */
int audit_verify_end(const struct audit_verify *v, bool whole, struct err *e);
