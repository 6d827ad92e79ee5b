/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/audit: the audit trail: who did what, in records that nobody can change unnoticed (docs/audit.md).
 *
 * Only the front writes it. A record is in its file (audit/chain.h) when trail_add() returns: an answer that is sent
 * after that is never without its record, whoever is killed when. A moment later it is in audit.db too, for those who
 * search. The warden opens the files (OP_AUDIT), since the front can open none. Not to be confused with atoll-refusals,
 * which reads the kernel's reports of refused system calls; these come here as records of the kind
 * violation.syscall. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "audit/chain.h"
#include "base/err.h"
#include "base/str.h"

struct front;
struct audit;

/* Whose doing it is and what it is about; NULL or "": nobody's, none. Anything that is no word of audit/chain.h is left
 * out. */
struct audit_who {
	const char *request, *team, *key, *sandbox, *session;
};

/* Without f->trail (audit = off, or a unit test) all of these do nothing. */

/* A record. kind: words with points between them, see docs/audit.md. fields: an object, taken; NULL: none. What may not
 * be kept must not be in it: no code, no tokens, no keys. Returns its number, or 0 if it was not written: that is
 * counted, logged and, when writing works again, recorded. */
uint64_t audit_add(struct front *f, const char *kind, const struct audit_who *who, json_t *fields);

/* The same for what others can cause without end. Of each class some are recorded each minute, then one with their
 * number. */
enum audit_class { AUDIT_AUTH, AUDIT_SYSCALL, AUDIT_EGRESS, AUDIT_QUOTA, AUDIT_CLASSES };
void audit_add_limited(struct front *f, enum audit_class class, const char *kind, const struct audit_who *who,
    json_t *fields);

/* An event of another process of ours, as JSON:
 * {"kind":"agent.refused","request":"","team":"","key":"","sandbox":"","session":"", "fields":{}}. All but the kind may
 * be absent; one that does not begin with "agent." or "mcp." gets "agent." before it. Further members are fields, too.
 * -EINVAL names what is wrong. */
int audit_event(struct front *f, struct str json, struct err *e);

/* The text whose hash record `seq` has, if the operator wants such (audit_code = full). */
void audit_text(struct front *f, uint64_t seq, const char *team, struct str text);

/* audit = required, and it cannot be written: nothing more is to be done */
bool audit_blocks(const struct front *f);

/* The life of it. */
int audit_new(struct front *f, const char *state_dir, struct err *e); /* f->trail, or nothing if it is off */
/* fetches its file; e: why not, or NULL */
void audit_begin(struct front *f, void (*then)(struct front *f, const struct err *e));
void audit_tick(struct front *f);  /* once a second */
void audit_prune(struct front *f); /* now and then: what is too old, or too much */
void audit_free(struct front *f);  /* all of it is written by then */
void audit_save(struct front *f);  /* into audit.db, now: somebody wants to search */
/* texts and rows of a team, some of them: 1 if there is more, 0; the chain stays */
int audit_purge(struct front *f, const char *team, int64_t *total, struct err *e);
struct store *audit_db(struct front *f); /* NULL: off */

struct audit_counts {
	uint64_t records, failures, seq, bytes;
	uint32_t segment;
	bool failing;
};
bool audit_counts(const struct front *f, struct audit_counts *ret); /* false: off */
