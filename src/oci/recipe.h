/* SPDX-License-Identifier: Apache-2.0 */
/* oci/recipe: a Debian of one's own, made by mmdebstrap. Maintainer scripts are programs like any other, so it runs as
 * root of a user namespace that is nobody outside, with a directory of the slot as the only place it can write to. It
 * has the host's network and its sources of packages. */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "oci/place.h"

/* "trixie" or "trixie,git,curl": a suite and packages. -EINVAL. */
int recipe_check(const char *recipe, struct err *e);

/* *ret_fd is where the archive of the root file system will come out. */
int recipe_start(struct place *p, const char *recipe, int *ret_fd, pid_t *ret_pid, struct err *e);

/* Waits for its end, and removes its directory. */
int recipe_end(struct place *p, pid_t *pid, struct err *e);
