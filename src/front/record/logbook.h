/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/logbook: the logs of all sandboxes, from their first entry until a while after their end.
 *
 * New entries of a sandbox are gathered in its tail, in memory, and go to the store some seconds later, those of many
 * sandboxes together: so an entry costs the request that it is about next to nothing, and a front that is killed loses
 * the last seconds. Of one sandbox the newest LOGBOOK_EACH_MAX bytes are kept, or at least the newer half of them; of
 * all together about as much as the settings say: ended ones are then forgotten, the oldest first. */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "front/record/journal.h"

struct front;
struct logbook;
struct log_tail;

#define LOGBOOK_EACH_MAX (256 * 1024)

struct logbook *logbook_new(struct front *f);
void logbook_save(struct logbook *b); /* all of it now: the front ends */
void logbook_free(struct logbook *b); /* after all tails; NULL is fine */

/* The tail of a sandbox; is_new: nobody can have written anything about it before. */
struct log_tail *logbook_open(struct logbook *b, const char *id, const char *team, bool is_new);
void logbook_add(struct log_tail *t, const struct journal_entry *en);
void logbook_end(struct log_tail *t, uint64_t now_wall_ms); /* its sandbox has ended; frees it. NULL is fine */
void logbook_drop(struct log_tail *t);                      /* what is not saved is lost. NULL is fine */

/* All that there is of it, oldest first, to be given to journal_done(). -ENOENT: that team has no such log. */
int logbook_read(struct logbook *b, struct str id, const char *team, struct journal *ret, struct err *e);

/* after a start: the logs of sandboxes that are gone meanwhile have ended */
void logbook_end_lost(struct logbook *b);
/* now and then: forgets what is too old, until then; true: there is more */
bool logbook_prune(struct logbook *b, uint64_t until_ms);
