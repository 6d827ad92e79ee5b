/* SPDX-License-Identifier: Apache-2.0 */
/* front/template/build: makes versions of templates.
 *
 *	waiting --> building --> ready or error
 *
 *	build.c		the queue, the base, the log, the end
 *	build_recipe.c	a base that is a recipe for a Debian
 *	build_box.c	the sandbox in which it all happens, and keeping what it has made
 *	build_steps.c	one step after the other
 *	build_final.c	what sandboxes of it find: defaults, the start command running
 *
 * Nothing of a step happens outside of a sandbox with the limits of the template. Like a member of the pool it is in no
 * table and no row: no request can reach it, and a front that starts ends what it does not know. After each step that
 * changes files its disk is saved as a layer, under a key that follows from the base and all steps so far; a build
 * started with the longest that there is. Tags move to a build when it is ready, so until then, and if it fails, the
 * version before stays in use. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "base/err.h"
#include "store/builds.h"

struct build;
struct front;

TAILQ_HEAD(build_list, build); /* those that wait or are under way, oldest first */

/* row: "waiting" in the store. body: what to build, borrowed. -EINVAL names the field; -EBUSY: another build of the
 * same template and tag is under way. */
int build_begin(struct front *f, const struct build_row *row, const char *name, json_t *body, struct err *e);
struct build *build_of(const struct front *f, const char *id); /* under way; NULL: no */
bool build_of_template(const struct front *f, const char *template_id);
void build_cancel(struct build *b, const char *why);     /* it is gone on return */
bool build_exited(struct front *f, const char *sandbox); /* true: it was one of ours */
void builds_stop(struct front *f);                       /* the front ends */

/* At start: what the warden has and the store knows is marked as owned; builds that were under way have failed. */
int builds_load(struct front *f, bool (*is_saved)(void *user, const char *name, bool *ret_memory), void *user,
    struct err *e);

/* Removes layers that were used longest ago until the rest fits. */
struct gc_result {
	unsigned layers, uploads;
};
int builds_gc(struct front *f, uint64_t max_bytes, struct gc_result *ret, struct err *e);
/* a row has gone that named it: forgotten if it was the last one */
void build_release(struct front *f, const char *kept);
