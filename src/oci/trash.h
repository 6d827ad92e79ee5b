/* SPDX-License-Identifier: Apache-2.0 */
/* oci/trash: images on their way out: CACHE/images/trash/NAME.N.
 *
 * To delete a tree takes long, and nobody should have to wait for it. So it is moved here by one rename, which is all
 * that the others have to see, and deleted afterwards, by one process at a time. What a process that was ended has left
 * the next one deletes. */
#pragma once

#include "base/err.h"

int trash_open(int images_fd, int *ret_fd, struct err *e);
int trash_put(int trash_fd, int at, const char *name); /* 0 or -errno: it is where it was */
void trash_empty(int trash_fd);                        /* leaves it to whoever is at it already */
