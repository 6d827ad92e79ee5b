/* SPDX-License-Identifier: Apache-2.0 */
/* store/purge: deletes all data of a team, except for the team itself and its keys. */
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

struct purge {                     /* starts zeroed */
	int64_t rows[PURGE_STEPS]; /* deleted so far */
	unsigned step;             /* the current step */
	char after[PURGE_KEY_SIZE];
};

/* Deletes the secrets of a team, the history and logs of its ended sandboxes, its usage, webhooks and events,
 * for about max_ms; 1: there is more. Deleted data is overwritten, in the file and in the WAL. What is deleted
 * stays deleted if a later call fails. `e` must be clear. */
int purge_team_some(struct store *s, const char *team, uint64_t max_ms, struct purge *p, struct err *e);
