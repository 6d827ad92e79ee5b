/* SPDX-License-Identifier: Apache-2.0 */
/* store/keys: teams and their API keys; of a key only its SHA-256 is kept. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct store;

#define KEY_HASH_SIZE 32
#define TEAM_ID_SIZE 40			/* a UUID and a NUL */

struct key_row {			/* strings live for the call */
	uint8_t hash[KEY_HASH_SIZE];
	const char *team, *team_name, *name;
};

/* The default team, made on first use with the given id. */
int teams_default(struct store *s, const char *id_if_new, char ret_id[TEAM_ID_SIZE], struct err *e);

/* Puts the key called `name` of that team in place of an earlier one with the same name. */
int keys_put(struct store *s, const char *team, const char *name, const uint8_t hash[KEY_HASH_SIZE], struct err *e);

/* Calls fn for each key; a negative value from it ends the walk and is returned. */
int keys_each(struct store *s, int (*fn)(void *user, const struct key_row *k), void *user, struct err *e);
