/* SPDX-License-Identifier: Apache-2.0 */
/* carrier: bytes on their way from one socket to another, without being copied through us: splice(2) into a pipe and
 * out of it.
 *
 * A pipe is held only while something is in it. The kernel counts the pages of all pipes of a user, and makes those of
 * a user who has many very small: a thousand idle connections must have none. The first few are large, because each
 * turn has a price that does not depend on how much is moved: whoever wrote it is woken, and whoever is to read it. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#define CARRIER_MAX (1024 * 1024) /* moved at a time; also the size of a large pipe */

struct carrier {
	int pipe[2]; /* -1: none */
	size_t n;    /* bytes in it */
};

#define CARRIER_EMPTY { .pipe = { -1, -1 } }

/* for all together; at first there is none. Who would need one more gets -EMFILE */
void carrier_limit(size_t pipes);

/* Takes up to max bytes that have come on the socket; the carrier must be empty. Returns how many, 0 at the end of
 * them, -EAGAIN, or another negative errno; -EINVAL, -EMFILE, -ENFILE: read and write, nothing is wrong with the
 * socket. */
ssize_t carrier_load(struct carrier *c, int fd, size_t max);

/* Puts what it holds into the socket; n tells what is left for when there is room again. 0 or -errno. */
int carrier_unload(struct carrier *c, int fd);
void carrier_drop(struct carrier *c); /* with all that is in it */
