/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/records: the audit trail, logs, notebooks, events and webhooks. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct accounts;
struct audit;
struct links;
struct logbook;
struct notebooks;
struct webhooks;
struct cell_row;
struct sandbox_facts;

/* What a thread other than the main one leaves to that: all that uses the database, a timer or the warden. The
 * implementations copy what they are given. */
struct record_away_ops {
	void (*audit_look)(void *user);
	void (*audit_text)(void *user, uint64_t seq, const char *team, struct str text);
	void (*cell)(void *user, const struct sandbox_facts *sb, const struct cell_row *c);
	void (*cell_missed)(void *user, const struct sandbox_facts *sb);
	void (*context)(void *user, const struct sandbox_facts *sb, struct str answer);
};

struct records {
	struct links *link;
	struct accounts *account;
	struct audit *audit;         /* NULL: disabled */
	struct notebooks *notebooks; /* likewise */
	struct webhooks *webhooks;   /* webhooks and their deliveries */
	struct logbook *logbook;
	_Atomic uint64_t witnessed;         /* bytes of requests and answers held by witnesses */
	_Atomic uint64_t *all_witnessed;    /* the same of all threads: that of the main one; NULL: this one */
	bool history_more;                  /* history_prune() was too large for one pass */
	const struct record_away_ops *away; /* NULL: these are the records of the main thread */
	void *away_user;
};
