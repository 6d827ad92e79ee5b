/* SPDX-License-Identifier: Apache-2.0 */
/* store/quotas: the quotas of teams and keys, and their usage per day. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct store;

struct quota_use {
	uint64_t day; /* since 1970, UTC */
	uint64_t cpu_ms, sent_bytes;
};

/* text: JSON; NULL: none. On disk when it returns. -ENOENT: no such team or key. */
int quotas_set(struct store *s, bool of_key, const char *id, const char *text, struct err *e);
int quotas_each(struct store *s, void (*fn)(void *user, bool of_key, const char *id, const char *text), void *user,
    struct err *e);

int quota_use_put(struct store *s, const char *owner, const struct quota_use *u, struct err *e);
int quota_use_each(struct store *s, uint64_t day, void (*fn)(void *user, const char *owner, const struct quota_use *u),
    void *user, struct err *e);
int quota_use_prune(struct store *s, uint64_t before_day, struct err *e); /* returns how many */
