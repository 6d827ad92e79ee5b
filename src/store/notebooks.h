/* SPDX-License-Identifier: Apache-2.0 */
/* store/notebooks: notebooks.db: the code that each sandbox ran and its output, stored until some time after the
 * sandbox has ended. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct store;

struct cell_row {
	uint64_t n;           /* 1, 2, ... */
	const char *context;  /* "": the default context of its language */
	const char *language; /* as given by the client; "": not given */
	struct str code;
	struct str output;     /* lines of JSON, as received */
	uint64_t began_ms, ms; /* wall clock; duration */
	const char *outcome;
	bool cut; /* part of the output was not stored */
};

int notebooks_open(const char *path, struct store **ret, struct err *e);
int notebooks_begin(struct store *s, struct err *e); /* nothing is durable until the commit */
int notebooks_commit(struct store *s, struct err *e);
void notebooks_rollback(struct store *s); /* after any failure in between, or of the commit */

/* The number of bytes and cells of a sandbox; 0 if none. */
int notebooks_size(struct store *s, const char *sandbox, uint64_t *ret_bytes, uint64_t *ret_cells, struct err *e);
int notebooks_add(struct store *s, const char *sandbox, const char *team, const struct cell_row *c, struct err *e);
/* In two steps, for many cells of one notebook in a transaction: the first one with notebooks_add(), the others alone,
 * and their sum before the commit. */
int notebooks_add_cell(struct store *s, const char *sandbox, const struct cell_row *c, struct err *e);
int notebooks_grow(struct store *s, const char *sandbox, const char *team, uint64_t bytes, uint64_t cells,
    struct err *e);
/* counts a cell that there was no room for */
int notebooks_missed(struct store *s, const char *sandbox, const char *team, struct err *e);
int notebooks_context(struct store *s, const char *sandbox, const char *context, const char *language, struct err *e);
int notebooks_end(struct store *s, const char *sandbox, uint64_t now_ms, struct err *e);
/* those that have not ended */
int notebooks_live(struct store *s, void (*fn)(void *user, const char *sandbox), void *user, struct err *e);

struct notebook_head {
	uint64_t cells, missed, ended_ms;
	char language[32]; /* of most of its cells; "" */
	uint64_t contexts; /* number of contexts that its cells ran in */
};

/* -ENOENT */
int notebooks_find(struct store *s, const char *sandbox, const char *team, struct notebook_head *ret, struct err *e);

/* The first cell after number `after`, of that context if not NULL. 1; 0: none; or -errno. The texts are valid
 * until the next call. language: as given, or that of the context. */
int notebooks_next(struct store *s, const char *sandbox, const char *context, uint64_t after, struct cell_row *ret,
    struct err *e);

int notebooks_bytes(struct store *s, uint64_t *ret, struct err *e); /* of all that are not dropped */

/* Deleting much data takes long, so it is done in two steps. notebooks_drop_*() hide notebooks and return how
 * many; notebooks_forget_some() deletes hidden ones for about max_ms: 1: there are more; 0: done; or -errno.
 * Data of a purged team is overwritten. */
int notebooks_drop_ended(struct store *s, uint64_t before_ms, struct err *e);
int notebooks_drop_oldest(struct store *s, struct err *e); /* of those whose sandbox has ended */
int notebooks_drop_team(struct store *s, const char *team, struct err *e);
int notebooks_forget_some(struct store *s, uint64_t max_ms, struct err *e);
