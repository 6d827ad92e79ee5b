/* SPDX-License-Identifier: Apache-2.0 */
/* store/webhooks: the webhooks of teams, and the queue of deliveries, which survives a restart of the front. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/events.h"

struct store;

struct webhook_row { /* strings are borrowed */
	const char *id, *team, *name, *url;
	const char *events; /* names, separated by commas */
	bool enabled;
	const void *sealed; /* the encrypted signing key */
	size_t n_sealed;
	uint64_t created_ms;
};

int webhooks_add(struct store *s, const struct webhook_row *row, struct err *e);
/* updates all but id, team and created_ms; -ENOENT */
int webhooks_set(struct store *s, const struct webhook_row *row, struct err *e);
int webhooks_drop(struct store *s, const char *id, struct err *e); /* with its deliveries */
/* oldest first */
int webhooks_each(struct store *s, void (*fn)(void *user, const struct webhook_row *row), void *user, struct err *e);

enum delivery_state { /* stored in the file: never renumber */
	DELIVERY_WAITING = 0,
	DELIVERY_DONE = 1,
	DELIVERY_FAILED = 2, /* given up */
};

struct delivery_row {
	uint64_t seq; /* assigned by the store, ascending */
	const char *id, *webhook;
	enum delivery_state state;
	uint32_t attempts;
	uint64_t created_ms;
	uint64_t last_ms;                  /* of the last attempt; 0: none */
	uint32_t outcome, status, took_ms; /* and its result: enum hk_outcome */
	const char *error;
	struct event_row event; /* the event; its id is NULL if it was deleted */
};

int deliveries_add(struct store *s, const char *id, const char *webhook, uint64_t event_seq, uint64_t now_ms,
    struct err *e);
/* The oldest pending delivery. 1; 0: none. */
int deliveries_next(struct store *s, const char *webhook, void (*fn)(void *user, const struct delivery_row *row),
    void *user, struct err *e);
/* updates state, attempts, last_ms, outcome, ... */
int deliveries_set(struct store *s, const struct delivery_row *row, struct err *e);
int deliveries_each(struct store *s, const char *webhook, uint64_t limit,
    void (*fn)(void *user, const struct delivery_row *row), void *user, struct err *e); /* newest first */
int deliveries_waiting(struct store *s, const char *webhook, uint64_t *ret, struct err *e);
int deliveries_prune(struct store *s, uint64_t before_ms, struct err *e); /* except pending ones */
