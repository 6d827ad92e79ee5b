/* SPDX-License-Identifier: Apache-2.0 */
/* store/meter: running time of sandboxes per day, team and key: one row per sandbox and day (UTC). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct store;

struct meter_row {
	const char *sandbox, *team;
	const char *key;      /* id of the API key that created it; "": none */
	const char *template; /* its name */
	const char *metadata; /* JSON object, or NULL */
	uint64_t day;         /* since 1970 */
	uint64_t running_ms;
	uint64_t cpu_permille_ms; /* running time times 1000 per CPU of its limit */
	uint64_t mib_ms;          /* running time times MiB of its memory limit */
	uint64_t until_ms;        /* wall clock: usage before that is included */
	uint64_t sent_bytes;      /* sent by the sandbox to the network */
};

/* Adds to the row of the day; its team and key stay as first recorded. */
int meter_add(struct store *s, const struct meter_row *row, struct err *e);

/* Until when the usage of a sandbox is recorded. 1; 0: not at all; or -errno. */
int meter_last(struct store *s, const char *sandbox, uint64_t *ret_until_ms, struct err *e);

/* Bytes sent on all its days; 0 if nothing is recorded. */
int meter_sent_total(struct store *s, const char *sandbox, uint64_t *ret_bytes, struct err *e);
int meter_add_sent(struct store *s, const char *sandbox, uint64_t bytes, struct err *e); /* to its last day */

/* All rows of these days, first to last, ordered by sandbox; at most max rows. team NULL: all teams. */
int meter_each(struct store *s, const char *team, uint64_t first, uint64_t last, size_t max,
    void (*fn)(void *user, const struct meter_row *row), void *user, struct err *e);
int meter_prune(struct store *s, uint64_t before_day, struct err *e);
