/* SPDX-License-Identifier: Apache-2.0 */
/* dirs: making a path's directories, taking trees away a piece at a time, and walking them in order. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* mkdir -p: each missing directory is made 0755 and given to uid:gid; existing ones are left as they are.
 * -ENOTDIR when one is a file. *ret_at (malloc, may be NULL) names where it failed. */
int dirs_ensure(const char *path, uid_t uid, gid_t gid, char **ret_at);

/* Removes a file or a whole tree without blocking for long: each step removes up to budget entries.
 * Links are removed, never followed. A path that is not there counts as removed. */
struct remover;

int remover_new(const char *path, struct remover **ret); /* -errno */
int remover_step(struct remover *r, unsigned budget);    /* 1: call again, 0: gone, -errno */
void remover_free(struct remover *r);                    /* NULL is fine */

/* Depth first, in byte order, links not followed, root left out: fn(user, path below root) for each entry down to
 * depth levels (128 at most). Non-zero from fn stops with that value. -errno if root cannot be read; what vanishes
 * meanwhile is skipped. */
typedef int dirs_walk_fn(void *user, const char *rel);
int dirs_walk(const char *root, unsigned depth, dirs_walk_fn *fn, void *user);
