/* SPDX-License-Identifier: Apache-2.0 */
/* oci/trash: images to be deleted: CACHE/images/trash/NAME.N.
 *
 * Deleting a tree takes long, and no client should wait for it. So the tree is moved here by one rename, after
 * which it is invisible to others, and is deleted later by one process at a time. What a killed process has left,
 * the next one deletes. */
#pragma once

#include "base/err.h"

int trash_open(int images_fd, int *ret_fd, struct err *e);
int trash_put(int trash_fd, int at, const char *name); /* 0, or -errno: not moved */
void trash_empty(int trash_fd);                        /* no-op if another process is emptying it */
