/* SPDX-License-Identifier: Apache-2.0 */
/* store/webhooks: whom a team wants to be told of events, and what is still to be told: a queue that outlives the
 * front. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/events.h"

struct store;

struct webhook_row { /* strings are borrowed */
	const char *id, *team, *name, *url;
	const char *events; /* names with commas between them */
	bool enabled;
	const void *sealed; /* what deliveries are signed with */
	size_t n_sealed;
	uint64_t created_ms;
};

int webhooks_add(struct store *s, const struct webhook_row *row, struct err *e);
/* all but id, team and created_ms; -ENOENT */
int webhooks_set(struct store *s, const struct webhook_row *row, struct err *e);
int webhooks_drop(struct store *s, const char *id, struct err *e); /* with its deliveries */
/* oldest first */
int webhooks_each(struct store *s, void (*fn)(void *user, const struct webhook_row *row), void *user, struct err *e);

enum delivery_state { /* written to the file: never renumber */
	DELIVERY_WAITING = 0,
	DELIVERY_DONE = 1,
	DELIVERY_FAILED = 2, /* given up */
};

struct delivery_row {
	uint64_t seq; /* given by the store, in order */
	const char *id, *webhook;
	enum delivery_state state;
	uint32_t attempts;
	uint64_t created_ms;
	uint64_t last_ms;                  /* of the last attempt; 0: none */
	uint32_t outcome, status, took_ms; /* ... and what became of it: enum hk_outcome */
	const char *error;
	struct event_row event; /* what is told; its id is NULL if it is not known any more */
};

int deliveries_add(struct store *s, const char *id, const char *webhook, uint64_t event_seq, uint64_t now_ms,
    struct err *e);
/* The oldest that waits: 1, or 0: none does. */
int deliveries_next(struct store *s, const char *webhook, void (*fn)(void *user, const struct delivery_row *row),
    void *user, struct err *e);
/* of the row: state, attempts, last_ms, outcome, ... */
int deliveries_set(struct store *s, const struct delivery_row *row, struct err *e);
int deliveries_each(struct store *s, const char *webhook, uint64_t limit,
    void (*fn)(void *user, const struct delivery_row *row), void *user, struct err *e); /* newest first */
int deliveries_waiting(struct store *s, const char *webhook, uint64_t *ret, struct err *e);
int deliveries_prune(struct store *s, uint64_t before_ms, struct err *e); /* but for those that wait */
