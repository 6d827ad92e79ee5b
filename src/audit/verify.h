/* SPDX-License-Identifier: Apache-2.0 */
/* audit/verify: verifies a chain of records. Lines in, the first bad record out; no I/O. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "audit/chain.h"
#include "base/err.h"

struct audit_verify {
	struct audit_seal *seal;
	const struct audit_point *known; /* a record that must be in the chain, from another source; NULL: none */
	struct audit_point at;           /* the last record so far */
	uint64_t first_seq;              /* 0: nothing read yet */
	uint8_t first_prev[AUDIT_HASH_SIZE];
	/* torn lines that were repaired; periods without records, and how many were lost in them */
	uint64_t records, repairs, gaps, lost;
	/* the records before the first one were dropped on purpose, as a record states */
	bool anchored;
};

/* Verifies the next line, without its newline. `file` and `line_no` are for the error text. -EBADMSG: e says
 * which record is bad, and why. */
int audit_verify_line(struct audit_verify *v, struct str line, const char *file, uint64_t line_no, struct err *e);

/* Reports bytes after the last newline of the last file. */
int audit_verify_torn(const struct audit_verify *v, size_t bytes, const char *file, struct err *e);

/* To be called after the last line. whole: the chain must start with the first record, or with one before which
 * others were dropped on purpose. */
int audit_verify_end(const struct audit_verify *v, bool whole, struct err *e);
