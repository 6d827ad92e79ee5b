/* SPDX-License-Identifier: Apache-2.0 */
/* carrier: moves bytes from one socket to another without copying them through the process, with splice(2) into
 * a pipe and out of it.
 *
 * A pipe is held only while it contains data. The kernel counts the pipe pages of each user and gives very small
 * pipes to a user with many, so a thousand idle connections must not hold any. The first few pipes are large,
 * because each transfer has a fixed cost: the writer and the reader have to be woken up. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#define CARRIER_MAX (1024 * 1024) /* bytes per transfer, and size of a large pipe */

struct carrier {
	int pipe[2]; /* -1: none */
	size_t n;    /* bytes in it */
};

#define CARRIER_EMPTY { .pipe = { -1, -1 } }

/* limits the number of pipes, for all carriers together; unlimited by default. -EMFILE above it */
void carrier_limit(size_t pipes);
void carrier_thread_ends(void); /* closes the spare pipes of the calling thread */

/* Moves up to max bytes from the socket into the carrier, which must be empty. Returns the number of bytes, 0 at
 * end of file, or a negative errno. -EINVAL, -EMFILE, -ENFILE: use read and write, the socket is fine. */
ssize_t carrier_load(struct carrier *c, int fd, size_t max);

/* Moves the content to the socket; c->n is what is left until there is room again. 0 or -errno. */
int carrier_unload(struct carrier *c, int fd);
void carrier_drop(struct carrier *c); /* discards its content */
