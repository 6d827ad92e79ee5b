/* SPDX-License-Identifier: Apache-2.0 */
/* store/logs: the journals of sandboxes, as pieces of bytes that are added one after the other.
 *
 * So that an old one can be cut off at its beginning, pieces belong to generations: what is older than the last but one
 * can be dropped. A log belongs to a team, and stays for a while after its sandbox has ended. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct store;

struct log_place { /* where the next piece goes */
	uint32_t gen, seq;
	uint64_t gen_bytes; /* already in that generation, */
	uint64_t old_bytes; /* and in the one before */
};

/* Between the two nothing is written for good: many pieces then cost little more than one. */
int logs_begin(struct store *s, struct err *e);
int logs_commit(struct store *s, struct err *e);

/* Adds a piece at p, which moves. ended_ms: 0, or when the sandbox ended: there is no more to come. */
int logs_add(struct store *s, const char *id, const char *team, struct str bytes, struct log_place *p,
    uint64_t ended_ms, struct err *e);
int logs_place(struct store *s, const char *id, struct log_place *ret, struct err *e); /* all zero: it has none yet */
int logs_drop_before(struct store *s, const char *id, uint32_t gen, struct err *e);

/* All pieces, oldest first. -ENOENT: that team has no such log, or it ended before then. */
int logs_read(struct store *s, struct str id, const char *team, uint64_t not_before_ms,
    void (*fn)(void *user, struct str bytes), void *user, struct err *e);

/* Those without a living sandbox, when the front has not lived to see its end. */
int logs_end_lost(struct store *s, uint64_t now_ms, struct err *e);

/* Forget ended ones: all of before then, or the n oldest. How many it were; *ret_bytes: how many bytes they had. */
int logs_prune(struct store *s, uint64_t ended_before_ms, uint64_t *ret_bytes, struct err *e);
int logs_prune_oldest(struct store *s, uint32_t n, uint64_t *ret_bytes, struct err *e);
int logs_bytes(struct store *s, uint64_t *ret, struct err *e); /* of all */
