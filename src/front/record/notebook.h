/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/notebook: records the code that sandboxes run and its output, for GET /sandboxes/{id}/notebook.
 *
 * They are stored outside of the sandbox, in notebooks.db, up to a size per sandbox and until some time after its
 * end. New cells are committed a moment later: a front that is killed loses the most recent ones. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct cell_row;
struct records;
struct notebooks;
struct sandbox_facts;
struct store;

#define NOTEBOOK_CELL_MAX (4u * 1024 * 1024) /* bytes of output stored per cell */

/* Without rs->notebooks all of these do nothing. */
int notebooks_new(struct records *rs, const char *state_dir, struct err *e);
void notebooks_free(struct records *rs);
void notebook_add(struct records *rs, const struct sandbox_facts *sb, struct cell_row *c); /* fills in its number */
void notebook_missed(struct records *rs,
    const struct sandbox_facts *sb); /* counts a cell that is too large to be stored */
/* answer to POST /contexts: records the language of the context */
void notebook_context(struct records *rs, const struct sandbox_facts *sb, struct str answer);
void notebook_end(struct records *rs, const struct sandbox_facts *sb); /* the sandbox has ended */
/* At the start: for sandboxes that no longer exist. */
typedef bool notebook_exists_fn(void *user, const char *sandbox);
void notebook_end_lost(struct records *rs, notebook_exists_fn *exists, void *user);
void notebook_prune(struct records *rs);
/* notebook_purge() begins to delete the notebooks of a team and sets *ret to their number; notebook_purge_more()
 * continues in portions. Both return 1 if there is more, 0 if everything is deleted and overwritten, or -errno. */
int notebook_purge(struct records *rs, const char *team, int64_t *ret, struct err *e);
int notebook_purge_more(struct records *rs, struct err *e);
void notebook_save(struct records *rs);        /* commits */
struct store *notebook_db(struct records *rs); /* NULL: disabled */
