/* SPDX-License-Identifier: Apache-2.0 */
/* front/template/build: builds versions of templates.
 *
 *	waiting --> building --> ready or error
 *
 *	build.c		the queue, the base, the log, the end
 *	build_recipe.c	a base that is a recipe for a Debian system
 *	build_box.c	the sandbox of the build, and saving its state
 *	build_steps.c	the steps, one after the other
 *	build_final.c	what its sandboxes start with: defaults, the running start command
 *
 * Each step runs in a sandbox with the limits of the template. Like a member of the warm pool, this sandbox is
 * neither in the table nor in the store: no request can reach it, and a new front kills it at its start as
 * unknown. After each step that changes files, the disk is saved as a layer, under a key derived from the base and
 * all steps so far. A build starts from the longest cached layer. Tags move to a build when it is ready; until
 * then, and if it fails, the previous version stays in use. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/builds.h"

struct build;
struct builds;

/* row: its state in the store is "waiting". body: the build request, borrowed. Returns -EINVAL, naming the field,
 * or -EBUSY if another build of the same template and tag is in progress. */
int build_begin(struct builds *bs, const struct build_row *row, const char *name, json_t *body, struct err *e);
struct build *build_of(const struct builds *bs, const char *id); /* NULL: no such build in progress */
bool build_of_template(const struct builds *bs, const char *template_id);
void build_cancel(struct build *b, const char *why);       /* b is freed on return */
bool build_exited(struct builds *bs, const char *sandbox); /* true: the sandbox belonged to a build */
void builds_stop(struct builds *bs);                       /* cancels all, because the front ends */

/* At the start: marks the saved states that the store refers to as owned, and builds that were in progress as
 * failed. */
int builds_load(struct builds *bs, bool (*is_saved)(void *user, const char *name, bool *ret_memory), void *user,
    struct err *e);

/* Removes the least recently used layers until the rest fits. */
struct gc_result {
	unsigned layers, uploads;
};
int builds_gc(struct builds *bs, uint64_t max_bytes, struct gc_result *ret, struct err *e);
/* A row that referred to this saved state was deleted: deletes the saved state if no other row refers to it. */
void build_release(struct builds *bs, const char *kept);
