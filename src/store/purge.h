/* SPDX-License-Identifier: Apache-2.0 */
/* store/purge: forgetting all that is known of a team, but for itself and its keys. */
#pragma once

#include <stdint.h>

#include "base/err.h"

#define PURGE_KEY_SIZE 64

struct store;

enum purge_step {
	PURGE_SECRETS,
	PURGE_SANDBOXES,
	PURGE_LOGS,
	PURGE_POINTS,
	PURGE_METER,
	PURGE_DELIVERIES,
	PURGE_WEBHOOKS,
	PURGE_EVENTS,
	PURGE_STEPS,
};

struct purge {                     /* begins as all zeros */
	int64_t rows[PURGE_STEPS]; /* gone so far */
	unsigned step;             /* where it is */
	char after[PURGE_KEY_SIZE];
};

/* Its secrets, the history and logs of its ended sandboxes, its counts, for about that long; 1: there is more. What was
 * written is overwritten, in the file and in its log. What is gone stays gone if a later call fails. `e` must be
 * clear. */
int purge_team_some(struct store *s, const char *team, uint64_t max_ms, struct purge *p, struct err *e);
