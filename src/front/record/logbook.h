/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/logbook: the logs of all sandboxes, from the first entry until some time after the end.
 *
 * New entries are collected in memory, in the tail of the sandbox, and written to the store some seconds later,
 * together with those of other sandboxes. So an entry costs almost nothing, and a front that is killed loses the
 * last seconds. Of each sandbox the newest LOGBOOK_EACH_MAX bytes are kept, or at least the newer half of them.
 * The total is limited by the settings: when it is exceeded, the logs of ended sandboxes are deleted, oldest
 * first. */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "front/record/journal.h"

struct records;
struct logbook;
struct log_tail;

#define LOGBOOK_EACH_MAX (256 * 1024)

struct logbook *logbook_new(struct records *rs);
void logbook_save(struct logbook *b); /* writes everything now, because the front ends */
void logbook_free(struct logbook *b); /* to be called after all tails are closed; NULL is fine */

/* Opens the tail of a sandbox. is_new: the store cannot have any entries for it. */
struct log_tail *logbook_open(struct logbook *b, const char *id, const char *team, bool is_new);
void logbook_add(struct log_tail *t, const struct journal_entry *en);
void logbook_end(struct log_tail *t, uint64_t now_wall_ms); /* the sandbox has ended; frees t. NULL is fine */
void logbook_drop(struct log_tail *t);                      /* frees t without writing it. NULL is fine */

/* Reads the whole log, oldest entry first; free it with journal_done(). Returns -ENOENT if the team has no such
 * log. */
int logbook_read(struct logbook *b, struct str id, const char *team, struct journal *ret, struct err *e);

/* After a start: marks the logs of sandboxes that no longer exist as ended. */
void logbook_end_lost(struct logbook *b);
/* Periodically: deletes what is too old, at most until until_ms. Returns true if there is more. */
bool logbook_prune(struct logbook *b, uint64_t until_ms);
