/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/audit_impl: shared by audit.c and audit_boot.c. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "audit/chain.h"
#include "base/buf.h"
#include "front/record/audit.h"

struct store;
struct timer;
struct audit_seal;
struct warden_call;

struct audit {
	struct records *rs;
	/* Records are added by several threads (front/proxy/lane.h): for all that follows. Recursive. The main thread
	 * does everything else, without the lock where only it writes. */
	pthread_mutex_t lock;
	struct audit_seal *seal;
	struct store *db;
	struct timer *timer; /* for the next flush to the database */
	struct warden_call *asking;
	audit_begun_fn *then; /* called when the start is done */
	void *then_user;
	int fd;                  /* the current segment; -1: not open */
	uint32_t segment, first; /* first: number of the oldest segment that exists */
	uint64_t bytes;          /* size of the current segment */
	uint64_t other_bytes;    /* size of the others, as last reported by the warden */
	uint64_t began_ms;       /* wall clock: time of the first record of the segment */
	uint64_t segment_seq;    /* number of its first record */
	struct audit_point at;
	struct audit_point dropping; /* last record of the segment that was dropped last */
	struct buf pending;          /* lines that are not in the database yet */
	bool unsaved;                /* the last flush failed */
	/* Lines were left out, so the head recorded in the database stays before them until the next start. */
	bool has_gap;
	struct {
		uint64_t since_ms;
		uint32_t listed, more;
		char kind[AUDIT_WORD_MAX + 1];
	} classes[AUDIT_CLASSES];
	uint64_t records, failures;
	uint64_t lost, lost_since_ms; /* number of records that could not be written, and since when */
	bool is_due;                  /* the timer is armed */
	bool asked;                   /* a thread has asked for audit_look(), which is to come */
	atomic_bool failing;          /* read without the lock */
};

static inline void audit_lock(struct audit *t)
{
	(void)pthread_mutex_lock(&t->lock);
}

static inline void audit_unlock(struct audit *t)
{
	(void)pthread_mutex_unlock(&t->lock);
}

void audit_want_next(struct audit *t);             /* a new segment */
void audit_flush(struct audit *t);                 /* writes the pending lines to the database */
void audit_pend(struct audit *t, struct str line); /* adds a line, without its newline, to the pending ones */
uint64_t audit_put(struct audit *t, const char *kind, const struct audit_who *who, struct str fields);
/* atomic: on failure nothing of the line stays in the file */
int audit_write(struct audit *t, struct str line, struct err *e);

/* Called when the file is open: finds the end of the chain, repairs what a crash has left, and brings the database
 * up to date. */
int audit_adopt(struct audit *t, struct err *e);
