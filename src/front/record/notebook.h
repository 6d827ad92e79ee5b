/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/notebook: the code that sandboxes run and its outputs, written down as they pass, for GET
 * /sandboxes/{id}/notebook.
 *
 * Outside of the sandbox, in notebooks.db; up to a size per sandbox, until a while after its end. What is new is
 * written for good a moment later: a front that is killed loses the cells of the last moment. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct cell_row;
struct front;
struct notebooks;
struct sandbox;
struct store;

#define NOTEBOOK_CELL_MAX (4u * 1024 * 1024) /* bytes of output that are kept of one */

/* Without f->notebooks all of these do nothing. */
int notebooks_new(struct front *f, const char *state_dir, struct err *e);
void notebooks_free(struct front *f);
void notebook_add(struct sandbox *sb, struct cell_row *c);    /* its number is filled in */
void notebook_missed(struct sandbox *sb);                     /* there was one that is too long to be kept */
void notebook_context(struct sandbox *sb, struct str answer); /* of POST /contexts: which language it is in */
void notebook_end(struct sandbox *sb);                        /* the sandbox has ended */
void notebook_end_lost(struct front *f);                      /* at the start: those of sandboxes that are gone */
void notebook_prune(struct front *f);
/* Takes a while: the first call has a team and says how many there are; the others go on. 1: there is more, 0: all is
 * gone and overwritten, or -errno. */
int notebook_purge(struct front *f, const char *team, int64_t *ret, struct err *e);
int notebook_purge_more(struct front *f, struct err *e);
void notebook_save(struct front *f);        /* for good */
struct store *notebook_db(struct front *f); /* NULL: none are kept */
