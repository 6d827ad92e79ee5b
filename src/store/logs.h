/* SPDX-License-Identifier: Apache-2.0 */
/* store/logs: the logs of sandboxes, stored as consecutive pieces of bytes.
 *
 * Pieces belong to generations, so that the beginning of a long log can be cut off: generations before the last
 * two can be deleted. A log belongs to a team, and stays for a while after its sandbox has ended. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct store;

struct log_place { /* the position of the next piece */
	uint32_t gen, seq;
	uint64_t gen_bytes; /* in that generation so far, */
	uint64_t old_bytes; /* and in the one before */
};

/* A transaction: many pieces cost little more than one. */
int logs_begin(struct store *s, struct err *e);
int logs_commit(struct store *s, struct err *e);

/* Adds a piece at p and advances p. ended_ms: 0, or when the sandbox ended and the log is complete. */
int logs_add(struct store *s, const char *id, const char *team, struct str bytes, struct log_place *p,
    uint64_t ended_ms, struct err *e);
int logs_place(struct store *s, const char *id, struct log_place *ret,
    struct err *e); /* all zero: there is no log yet */
int logs_drop_before(struct store *s, const char *id, uint32_t gen, struct err *e);

/* All pieces, oldest first. -ENOENT: the team has no such log, or it ended before that time. */
int logs_read(struct store *s, struct str id, const char *team, uint64_t not_before_ms,
    void (*fn)(void *user, struct str bytes), void *user, struct err *e);

/* Marks the logs of sandboxes that do not exist any more as ended, after a front that exited before it could. */
int logs_end_lost(struct store *s, uint64_t now_ms, struct err *e);

/* Deletes ended logs: those from before that time, or the n oldest. Returns how many; *ret_bytes: their total
 * size. */
int logs_prune(struct store *s, uint64_t ended_before_ms, uint64_t *ret_bytes, struct err *e);
int logs_prune_oldest(struct store *s, uint32_t n, uint64_t *ret_bytes, struct err *e);
int logs_bytes(struct store *s, uint64_t *ret, struct err *e); /* of all */
