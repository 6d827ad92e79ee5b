/* SPDX-License-Identifier: Apache-2.0 */
/* store/notebooks: notebooks.db: the code that each sandbox ran, and what came of it, until a while after its end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct store;

struct cell_row {
	uint64_t n;           /* 1, 2, ... */
	const char *context;  /* "": the default one of its language */
	const char *language; /* as the client said it; "": it said none */
	struct str code;
	struct str output;     /* lines of JSON, as they passed */
	uint64_t began_ms, ms; /* wall clock; how long it took */
	const char *outcome;
	bool cut; /* some of the output was not kept */
};

int notebooks_open(const char *path, struct store **ret, struct err *e);
int notebooks_begin(struct store *s, struct err *e); /* until the commit nothing is written for good */
int notebooks_commit(struct store *s, struct err *e);
void notebooks_rollback(struct store *s); /* after any failure in between, or of the commit */

/* How many bytes and cells there are of it; 0 if none. */
int notebooks_size(struct store *s, const char *sandbox, uint64_t *ret_bytes, uint64_t *ret_cells, struct err *e);
int notebooks_add(struct store *s, const char *sandbox, const char *team, const struct cell_row *c, struct err *e);
/* one more cell that there was no room for */
int notebooks_missed(struct store *s, const char *sandbox, const char *team, struct err *e);
int notebooks_context(struct store *s, const char *sandbox, const char *context, const char *language, struct err *e);
int notebooks_end(struct store *s, const char *sandbox, uint64_t now_ms, struct err *e);
/* those that have not ended */
int notebooks_live(struct store *s, void (*fn)(void *user, const char *sandbox), void *user, struct err *e);

struct notebook_head {
	uint64_t cells, missed, ended_ms;
	char language[32]; /* that most of its cells are in; "" */
	uint64_t contexts; /* in how many its cells ran */
};

/* -ENOENT */
int notebooks_find(struct store *s, const char *sandbox, const char *team, struct notebook_head *ret, struct err *e);

/* The first cell behind number `after`, of that context if not NULL. 1, 0: there is none, or -errno. Its texts live
 * until the next call. language: known by now, from the context if need be. */
int notebooks_next(struct store *s, const char *sandbox, const char *context, uint64_t after, struct cell_row *ret,
    struct err *e);

int notebooks_bytes(struct store *s, uint64_t *ret, struct err *e); /* of all that can be found */

/* To forget many takes long, so it is done in two steps. Those that are dropped can be found no more (how many);
 * _forget_some() removes of these what it can within about max_ms: 1 if there is more, 0, or -errno. What was purged is
 * overwritten. */
int notebooks_drop_ended(struct store *s, uint64_t before_ms, struct err *e);
int notebooks_drop_oldest(struct store *s, struct err *e); /* of those that have ended */
int notebooks_drop_team(struct store *s, const char *team, struct err *e);
int notebooks_forget_some(struct store *s, uint64_t max_ms, struct err *e);
