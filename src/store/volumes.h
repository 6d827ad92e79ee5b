/* SPDX-License-Identifier: Apache-2.0 */
/* store/volumes: the volumes of teams. A row is written before the volume is created, and deleted after it is
 * gone. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct store;

enum volume_state {        /* stored in the file: never renumber */
	VOLUME_MAKING = 0, /* not returned to a client yet */
	VOLUME_READY = 1,
	VOLUME_DROPPING = 2, /* to be removed; its name is free again */
};

struct volume_row { /* strings are borrowed */
	const char *id, *team, *name, *token;
	uint64_t bytes; /* its quota */
	enum volume_state state;
	uint64_t created_ms;
};

/* Changes are on disk when they return. */
/* -EEXIST: the team has a volume of that name */
int volumes_add(struct store *s, const struct volume_row *r, struct err *e);
int volumes_set(struct store *s, const char *id, enum volume_state state, uint64_t bytes, struct err *e);
int volumes_drop(struct store *s, const char *id, struct err *e);

int volumes_each(struct store *s, int (*fn)(void *user, const struct volume_row *r), void *user, struct err *e);
