/* SPDX-License-Identifier: Apache-2.0 */
/* streams: the lists of streams that a loop has. Internal to loop/. */
#pragma once

#include <stddef.h>
#include <sys/queue.h>

struct loop;
struct stream;

TAILQ_HEAD(stream_list, stream);

/* leaving.c: streams that have no owner any more and are being closed.
 *
 * Each of them still holds an fd, for as long as its peer likes. Their number is limited, or clients that never
 * close their side could use up the fds of the process by reconnecting again and again. */
struct leaving {                    /* both lists: oldest first */
	struct stream_list sending; /* data is still queued */
	struct stream_list waiting; /* everything is sent; the peer has not closed yet */
	size_t n, max;
};

struct leaving *loop_leaving(struct loop *l);
void leaving_end(struct leaving *all); /* closes all of them immediately */

/* stream.c: streams that hold small writes until the event that caused them is handled. */
struct joined {
	struct stream_list streams;
	unsigned depth; /* events being handled; 0: writes are sent at once */
};

struct joined *loop_joined(struct loop *l);
void joined_begin(struct joined *all);
void joined_end(struct joined *all); /* sends them, if this was the outermost event */
