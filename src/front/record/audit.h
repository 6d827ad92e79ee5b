/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/audit: the audit trail: a tamper-evident record of who did what (docs/audit.md).
 *
 * Only the front writes it. A record is in its file (audit/chain.h) when audit_add() returns, so an answer that is
 * sent after that always has its record, even if a process is killed. A moment later the record is also in
 * audit.db, for searches. The warden opens the files (OP_AUDIT), because the front can open none. This is not
 * atoll-refusals, which reads the kernel's reports of refused system calls; those become records of the kind
 * violation.syscall. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "audit/chain.h"
#include "base/err.h"
#include "base/str.h"

struct records;
struct audit;

/* The actor and the object of a record; NULL or "": none. A value that is no valid word (audit/chain.h) is left
 * out. */
struct audit_who {
	const char *request, *team, *key, *sandbox, *session;
};

/* Without rs->audit (audit = off, or a unit test) all of these do nothing. */

/* Adds a record. kind: words separated by dots, see docs/audit.md. fields: an object, ownership is taken; NULL:
 * none. It must not contain code, tokens or keys. Returns the number of the record, or 0 if it could not be
 * written: that is counted, logged and, when writing works again, recorded. */
uint64_t audit_add(struct records *rs, const char *kind, const struct audit_who *who, json_t *fields);

/* The same for events that others can cause without limit. Of each class a number of records is written each
 * minute; the rest is only counted, in one further record. */
enum audit_class { AUDIT_AUTH, AUDIT_SYSCALL, AUDIT_EGRESS, AUDIT_QUOTA, AUDIT_CLASSES };
void audit_add_limited(struct records *rs, enum audit_class class, const char *kind, const struct audit_who *who,
    json_t *fields);

/* Adds an event of another process of atoll, given as JSON:
 * {"kind":"agent.refused","request":"","team":"","key":"","sandbox":"","session":"", "fields":{}}. Only the kind
 * is required; one that does not begin with "agent." or "mcp." gets the prefix "agent.". Other members are added
 * to the fields. Returns -EINVAL, naming the error. */
int audit_event(struct records *rs, struct str json, struct err *e);

/* Stores the text whose hash is in record `seq`, if enabled (audit_code = full). */
void audit_text(struct records *rs, uint64_t seq, const char *team, struct str text);

/* True if audit = required and the trail cannot be written: requests must be refused. */
bool audit_blocks(const struct records *rs);

/* Does what other threads leave to the main one: see record_away_ops in front/record/records.h. */
void audit_look(struct records *rs);

/* Start, maintenance and end. */
int audit_new(struct records *rs, const char *state_dir, struct err *e); /* creates rs->audit, unless it is off */
/* Fetches the file, then calls `then`; e: the error, or NULL. */
typedef void audit_begun_fn(void *user, const struct err *e);
void audit_begin(struct records *rs, audit_begun_fn *then, void *user);
void audit_tick(struct records *rs);  /* once a second */
void audit_prune(struct records *rs); /* periodically: removes what is too old or too much */
void audit_free(struct records *rs);  /* writes everything first */
void audit_save(struct records *rs);  /* flushes to audit.db, before a search */
/* Deletes some of the texts and rows of a team. Returns 1 if there is more, else 0. The chain stays. */
int audit_purge(struct records *rs, const char *team, int64_t *total, struct err *e);
struct store *audit_db(struct records *rs); /* NULL: off */

struct audit_counts {
	uint64_t records, failures, seq, bytes;
	uint32_t segment;
	bool failing;
};
bool audit_counts(const struct records *rs, struct audit_counts *ret); /* false: off */
