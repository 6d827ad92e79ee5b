/* SPDX-License-Identifier: Apache-2.0 */
/* store/secrets: the secrets of teams. The caller encrypts the values; nothing here can read them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct store;

struct secret_row { /* strings and bytes are borrowed; from secrets_find() and _each() for the call only */
	const char *id, *team, *name;
	uint64_t version; /* 1, incremented with each new value */
	const void *sealed;
	size_t n_sealed;
	const char *metadata; /* a JSON object */
	uint64_t created_ms, updated_ms;
};

typedef int secret_fn(void *user, const struct secret_row *r);

/* Changes are on disk when they return. */
/* -EEXIST: the team has a secret of that name */
int secrets_add(struct store *s, const struct secret_row *r, struct err *e);
int secrets_set(struct store *s, const struct secret_row *r,
    struct err *e); /* version, value, metadata, updated_ms; -ENOENT */
int secrets_drop(struct store *s, const char *team, const char *id, struct err *e); /* -ENOENT */

/* By id or by name. -ENOENT, or the return value of fn. */
int secrets_find(struct store *s, const char *team, const char *which, secret_fn *fn, void *user, struct err *e);

/* Ordered by name, starting after `after` ("": the first). A negative return value of fn ends the walk and is
 * returned. */
int secrets_each(struct store *s, const char *team, const char *after, uint64_t limit, secret_fn *fn, void *user,
    struct err *e);
int64_t secrets_count(struct store *s, const char *team, struct err *e); /* or -errno */
