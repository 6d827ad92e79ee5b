/* SPDX-License-Identifier: Apache-2.0 */
/* store/sessions: the sessions of the console, in a file of their own: a backup does not have them, and its loss only
 * ends them. Only the SHA-256 of a session's token is stored. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct store;

#define SESSION_HASH_SIZE 32

struct session_row { /* strings are borrowed; from sessions_each() they live for the call */
	uint8_t hash[SESSION_HASH_SIZE];
	const char *id, *team, *key, *user;
	uint32_t role;
	uint64_t created_ms, used_ms, expires_ms;
};

int sessions_store_open(const char *path, struct store **ret, struct err *e);
/* Deletes the sessions without a key if `basis` is another text than last time. */
int sessions_rebase(struct store *s, const char *basis, struct err *e);
int sessions_add(struct store *s, const struct session_row *row, struct err *e);
int sessions_used(struct store *s, const uint8_t hash[SESSION_HASH_SIZE], uint64_t at_ms, struct err *e);
/* On disk when it returns. */
int sessions_drop(struct store *s, const uint8_t hash[SESSION_HASH_SIZE], struct err *e);
/* Calls fn for each, oldest first. A negative return value ends the walk and is returned. */
int sessions_each(struct store *s, int (*fn)(void *user, const struct session_row *row), void *user, struct err *e);
