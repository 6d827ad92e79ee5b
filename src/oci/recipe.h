/* SPDX-License-Identifier: Apache-2.0 */
/* oci/recipe: builds a Debian root file system with mmdebstrap. Maintainer scripts are untrusted programs, so it
 * runs as root of a user namespace whose uids have no rights outside, and can only write to one directory of the
 * slot. It uses the host's network and package sources. */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "oci/place.h"

/* "trixie" or "trixie,git,curl": a suite and packages. -EINVAL. */
int recipe_check(const char *recipe, struct err *e);

/* The archive of the root file system can be read from *ret_fd. */
int recipe_start(struct place *p, const char *recipe, int *ret_fd, pid_t *ret_pid, struct err *e);

/* Waits for its end and removes its directory. */
int recipe_end(struct place *p, pid_t *pid, struct err *e);
