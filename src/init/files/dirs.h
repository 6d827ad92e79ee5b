/* SPDX-License-Identifier: Apache-2.0 */
/* dirs: creates the directories of a path, removes trees in steps, and walks them in order. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* mkdir -p: each missing directory is created with mode 0755 and owner uid:gid; existing ones are left unchanged.
 * -ENOTDIR if a component is a file. *ret_at (malloc, may be NULL) is the path where it failed. */
int dirs_ensure(const char *path, uid_t uid, gid_t gid, char **ret_at);

/* Removes a file or a whole tree without blocking for long: each step removes up to budget entries. Links are
 * removed, never followed. A missing path counts as removed. */
struct remover;

int remover_new(const char *path, struct remover **ret); /* -errno */
int remover_step(struct remover *r, unsigned budget);    /* 1: call again, 0: removed, -errno */
void remover_free(struct remover *r);                    /* NULL is fine */

/* Walks depth first, in byte order, without following links: fn(user, path below root) for each entry except root,
 * down to depth levels (128 at most). If fn returns non-zero, the walk stops with that value. -errno if root
 * cannot be read; entries that vanish meanwhile are skipped. */
typedef int dirs_walk_fn(void *user, const char *rel);
int dirs_walk(const char *root, unsigned depth, dirs_walk_fn *fn, void *user);
