/* SPDX-License-Identifier: Apache-2.0 */
/* oci/blobs: the cache of layers as they travel, each under its digest: CACHE/images/blobs/HEX.
 *
 * A blob gets its name when its bytes have been hashed by us, in one step, so that under a name there is never anything
 * else, and a pull that is interrupted leaves nothing (the file has no name until then). Any number of pulls may run at
 * once: they hold the lock shared, and only who gets it alone removes anything. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "oci/digest.h"

struct blobs {
	int dir_fd, lock_fd;
};

#define BLOBS_NONE { -1, -1 }

/* makes what is missing; waits for a removal under way */
int blobs_open(int images_fd, struct blobs *ret, struct err *e);
void blobs_close(struct blobs *b);

/* An fd for reading, or -ENOENT. A blob that was not used since the machine was started is hashed again first: a crash
 * may have kept the name and lost the bytes. */
int blobs_find(const struct blobs *b, const struct digest *d, int *ret_fd, struct err *e);

int blobs_create(const struct blobs *b, int *ret_fd, struct err *e); /* a file without a name */

/* Reads all of `from` into it, at most max bytes, and gives it the name of its digest. */
int blobs_fill(const struct blobs *b, int fd, int from, uint64_t max, const struct digest *want, struct digest *ret,
    struct err *e);

void blobs_drop(const struct blobs *b, const struct digest *d); /* it turned out to be bad */

/* The least recently used go until the rest fits; does nothing while others are at work (*ret_freed is 0 then). */
int blobs_trim(const struct blobs *b, uint64_t max_bytes, uint64_t *ret_freed, struct err *e);
