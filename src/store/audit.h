/* SPDX-License-Identifier: Apache-2.0 */
/* store/audit: audit.db, a searchable copy of the records of the audit trail.
 *
 * The files of the trail are authoritative. The database follows them with a delay, and is ahead of them only by
 * what a crash of the host has lost from the files. It also stores the last record, so that truncated files are
 * noticed, and, if the operator wants them, the texts whose hashes the records contain: those can be purged
 * without breaking the chain. */
#pragma once

#include <stdint.h>

#include "audit/chain.h"
#include "base/err.h"
#include "base/str.h"

struct store;

struct audit_query { /* "" or 0: any */
	const char *team, *key, *sandbox, *session, *kind, *request;
	uint64_t from_ms, to_ms; /* both inclusive; to_ms 0: no end */
	uint64_t after, before;  /* only records after that one; before that one (0: no end) */
	uint64_t last;           /* not 0: the last that many, newest first, instead of the first */
	uint64_t max;
	uint64_t look_max;    /* rows to examine, whether they match or not; 0: all */
	uint64_t *ret_looked; /* the record it stopped at if there may be more, else 0; may be NULL */
};

int audit_db_open(const char *path, struct store **ret, struct err *e);

int audit_db_begin(struct store *s, struct err *e); /* nothing is durable until the commit */
int audit_db_commit(struct store *s, const struct audit_point *head, struct err *e); /* NULL: the head is unchanged */
void audit_db_rollback(struct store *s); /* after any failure in between, or of the commit */
int audit_db_add(struct store *s, const struct audit_line *l, struct str line, struct err *e);
int audit_db_text(struct store *s, uint64_t seq, const char *team, struct str text, struct err *e);

int audit_db_bytes(struct store *s, uint64_t *ret, struct err *e);       /* of the file */
int audit_db_forget_texts(struct store *s, uint64_t max, struct err *e); /* deletes the oldest; returns how many */

int audit_db_head(struct store *s, struct audit_point *ret, struct err *e); /* all zero: none is stored */

/* text: NULL if none is stored. A negative return value of fn ends the walk. */
int audit_db_each(struct store *s, const struct audit_query *q,
    int (*fn)(void *user, uint64_t seq, struct str line, const char *text), void *user, struct err *e);

/* Deletes the records before that one and their texts. */
int audit_db_prune(struct store *s, uint64_t before_seq, struct err *e); /* returns how many */

/* Deletes and overwrites rows and texts of a team for about max_ms. 1: there are more; 0: done; or -errno. Adds
 * the number of deleted rows to *total. */
int audit_db_purge_some(struct store *s, const char *team, uint64_t max_ms, int64_t *total, struct err *e);
