/* SPDX-License-Identifier: Apache-2.0 */
/* store/audit: audit.db, the records of the audit trail in a form that can be searched.
 *
 * The files of the trail are what counts; this follows them a moment later and can be behind, never ahead by more than
 * what a crash of the host took from the files. It also remembers the last record, so that files whose end was cut off
 * are noticed, and the texts whose hashes the records have, where the operator wants them: those can be purged without
 * breaking the chain. */
#pragma once

#include <stdint.h>

#include "audit/chain.h"
#include "base/err.h"
#include "base/str.h"

struct store;

struct audit_query { /* "" or 0: any */
	const char *team, *key, *sandbox, *session, *kind, *request;
	uint64_t from_ms, to_ms; /* both included; to_ms 0: no end */
	uint64_t after, before;  /* only records behind that one; before that one (0: no end) */
	uint64_t last;           /* not 0: the last so many, newest first, in place of the first */
	uint64_t max;
	uint64_t look_max;    /* rows that are looked at, whether they fit or not; 0: all */
	uint64_t *ret_looked; /* the one it stopped at if there may be more beyond, else 0; NULL: who cares */
};

int audit_db_open(const char *path, struct store **ret, struct err *e);

int audit_db_begin(struct store *s, struct err *e); /* until the commit nothing is written for good */
int audit_db_commit(struct store *s, const struct audit_point *head, struct err *e); /* NULL: the head stays */
void audit_db_rollback(struct store *s); /* after any failure in between, or of the commit */
int audit_db_add(struct store *s, const struct audit_line *l, struct str line, struct err *e);
int audit_db_text(struct store *s, uint64_t seq, const char *team, struct str text, struct err *e);

int audit_db_bytes(struct store *s, uint64_t *ret, struct err *e);       /* of the file */
int audit_db_forget_texts(struct store *s, uint64_t max, struct err *e); /* the oldest; how many */

int audit_db_head(struct store *s, struct audit_point *ret, struct err *e); /* all zero: it knows none */

/* text: NULL if none is kept. A fn that returns less than 0 ends it. */
int audit_db_each(struct store *s, const struct audit_query *q,
    int (*fn)(void *user, uint64_t seq, struct str line, const char *text), void *user, struct err *e);

/* Rows that are older go; ret_last: the newest of them, if the files are to be dropped up to there. */
int audit_db_prune(struct store *s, uint64_t before_seq, struct err *e); /* how many */

/* Rows and texts, overwritten, as far as it comes within about max_ms: 1 if there is more, 0, or -errno. The rows that
 * went are added to *total. */
int audit_db_purge_some(struct store *s, const char *team, uint64_t max_ms, int64_t *total, struct err *e);
