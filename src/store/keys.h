/* SPDX-License-Identifier: Apache-2.0 */
/* store/keys: the API keys of teams. Only the SHA-256 of a key and a few characters to recognise it are stored. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct store;

#define KEY_HASH_SIZE 32

struct key_row { /* strings are borrowed; from keys_each() they live for the call */
	const char *id, *team, *name;
	uint8_t hash[KEY_HASH_SIZE];
	const char *head, *tail; /* first and last characters, without the prefix */
	uint32_t length;         /* of the key without its prefix */
	bool admin, local;
	uint64_t created_ms;
	uint64_t used_ms, expires_ms; /* 0: never */
};

/* All changes except keys_used() are on disk when they return. */
int keys_add(struct store *s, const struct key_row *k, struct err *e); /* -EEXIST: that key or id exists */
int keys_rename(struct store *s, const char *id, const char *name, struct err *e);
int keys_expire(struct store *s, const char *id, uint64_t at_ms, struct err *e);
int keys_drop(struct store *s, const char *id, struct err *e);

/* Makes k the local key; replaces an earlier one and any key with the same hash. */
int keys_put_local(struct store *s, const struct key_row *k, struct err *e);

int keys_used(struct store *s, const char *id, uint64_t at_ms, struct err *e);

/* Calls fn for each key, oldest first; a negative return value ends the walk and is returned. */
int keys_each(struct store *s, int (*fn)(void *user, const struct key_row *k), void *user, struct err *e);
