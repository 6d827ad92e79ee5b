/* SPDX-License-Identifier: Apache-2.0 */
/* store/teams: the owners of sandboxes and keys, and their limits. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct store;

#define TEAM_ID_SIZE 40 /* a UUID and a NUL */
#define TEAM_NAME_SIZE 64

#define LIMIT_DEFAULT (-1) /* the server's default */

struct team_row { /* strings are borrowed; from teams_each() they live for the call */
	const char *id, *name;
	bool is_default, blocked;
	int64_t max_sandboxes, rate_limit; /* LIMIT_DEFAULT, 0: none, or the limit */
	uint64_t created_ms;
};

/* Changes are on disk when they return. */
int teams_add(struct store *s, const struct team_row *t, struct err *e); /* -EEXIST: the name is taken */
/* updates all but id, is_default and created_ms */
int teams_set(struct store *s, const struct team_row *t, struct err *e);
int teams_drop(struct store *s, const char *id, struct err *e); /* with its keys */

/* Calls fn for each team, oldest first; a negative return value ends the walk and is returned. */
int teams_each(struct store *s, int (*fn)(void *user, const struct team_row *t), void *user, struct err *e);
