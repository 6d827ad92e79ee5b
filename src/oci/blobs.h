/* SPDX-License-Identifier: Apache-2.0 */
/* oci/blobs: the cache of compressed layers, each named by its digest: CACHE/images/blobs/HEX.
 *
 * A blob is linked to its name in one step, after its bytes have been hashed here, so a name never refers to other
 * content and an interrupted pull leaves nothing behind (the file has no name until then). Any number of pulls may
 * run at once: they hold a shared lock, and only a process with the exclusive lock removes blobs. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "oci/digest.h"

struct blobs {
	int dir_fd, lock_fd;
};

#define BLOBS_NONE { -1, -1 }

/* Creates missing directories; waits for a removal in progress. */
int blobs_open(int images_fd, struct blobs *ret, struct err *e);
void blobs_close(struct blobs *b);

/* An fd for reading, or -ENOENT. A blob that was not used since the machine booted is hashed again first: after a
 * crash the name may exist without the bytes. */
int blobs_find(const struct blobs *b, const struct digest *d, int *ret_fd, struct err *e);

int blobs_create(const struct blobs *b, int *ret_fd, struct err *e); /* an unnamed file */

/* Reads all of `from` into it, at most max bytes, and links it to the name of its digest. */
int blobs_fill(const struct blobs *b, int fd, int from, uint64_t max, const struct digest *want, struct digest *ret,
    struct err *e);

void blobs_drop(const struct blobs *b, const struct digest *d); /* removes a damaged blob */

/* Removes the least recently used blobs until the rest fits. Does nothing while other pulls run (*ret_freed is
 * then 0). */
int blobs_trim(const struct blobs *b, uint64_t max_bytes, uint64_t *ret_freed, struct err *e);
