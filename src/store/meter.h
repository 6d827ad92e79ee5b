/* SPDX-License-Identifier: Apache-2.0 */
/* store/meter: for how long sandboxes ran, day by day, and for whom: a row per sandbox and day (UTC). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct store;

struct meter_row {
	const char *sandbox, *team;
	const char *key;      /* the id of the API key that it was made with; "": none */
	const char *template; /* its name */
	const char *metadata; /* JSON object, or NULL */
	uint64_t day;         /* since 1970 */
	uint64_t running_ms;
	uint64_t cpu_permille_ms; /* ... times 1000 per processor that it may use */
	uint64_t mib_ms;          /* ... times MiB of memory that it may use */
	uint64_t until_ms;        /* wall clock: what came before is in here */
	uint64_t sent_bytes;      /* out of the sandbox, to the network */
};

/* Adds to what the day has already; whose it is stays as it was said first. */
int meter_add(struct store *s, const struct meter_row *row, struct err *e);

/* Up to when a sandbox is noted: 1, 0: it is not, or -errno. */
int meter_last(struct store *s, const char *sandbox, uint64_t *ret_until_ms, struct err *e);

/* What it has sent in all: of all its days; 0 if it is not noted. */
int meter_sent_total(struct store *s, const char *sandbox, uint64_t *ret_bytes, struct err *e);
int meter_add_sent(struct store *s, const char *sandbox, uint64_t bytes, struct err *e); /* to its last day */

/* All of these days, first to last, one sandbox after the other; at most max rows. team NULL: everybody's. */
int meter_each(struct store *s, const char *team, uint64_t first, uint64_t last, size_t max,
    void (*fn)(void *user, const struct meter_row *row), void *user, struct err *e);
int meter_prune(struct store *s, uint64_t before_day, struct err *e);
