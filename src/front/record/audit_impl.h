/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/audit_impl: what audit.c and audit_boot.c share. */
#pragma once

#include "audit/chain.h"
#include "base/buf.h"
#include "front/record/audit.h"

struct store;
struct timer;
struct audit_seal;
struct warden_call;

struct audit {
	struct front *front;
	struct audit_seal *seal;
	struct store *db;
	struct timer *timer; /* until what is pending goes to the database */
	struct warden_call *asking;
	void (*then)(struct front *f, const struct err *e); /* during the start */
	int fd;                                             /* of the segment; -1: there is none */
	uint32_t segment, first;                            /* first: of those that there are */
	uint64_t bytes;                                     /* of this segment, */
	uint64_t other_bytes;                               /* ... and of the others, as last told */
	uint64_t began_ms;    /* wall clock: when the first record of the segment was written */
	uint64_t segment_seq; /* its first record */
	struct audit_point at;
	struct audit_point dropping; /* the end of what was dropped last */
	struct buf pending;          /* lines that the database does not have yet */
	bool unsaved;                /* the last try to give them to it failed */
	/* so often that lines were left out: its head stays before them, until the next start */
	bool has_gap;
	struct {
		uint64_t since_ms;
		uint32_t listed, more;
		char kind[AUDIT_WORD_MAX + 1];
	} classes[AUDIT_CLASSES];
	uint64_t records, failures;
	uint64_t lost, lost_since_ms; /* records that could not be written since then */
	bool failing;
};

void audit_flush(struct audit *t);                 /* what is pending to the database */
void audit_pend(struct audit *t, struct str line); /* without its newline; more of what is pending */
uint64_t audit_put(struct audit *t, const char *kind, const struct audit_who *who, struct str fields);
int audit_write(struct audit *t, struct str line, struct err *e); /* whole, or not at all */

/* The file is open: finds the end of the chain in it, mends what a crash has left, brings the database up to date. */
int audit_adopt(struct audit *t, struct err *e);
