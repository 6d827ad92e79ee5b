/* SPDX-License-Identifier: Apache-2.0 */
/* streams: the lists of streams that a loop has. Internal to loop/. */
#pragma once

#include <stddef.h>
#include <sys/queue.h>

#include "base/buf.h"

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

/* stream.c: buffers that all streams of a loop share. */
#define STREAM_QUEUE_MAX (64 * 1024 * 1024) /* a writer that ignores stream_queued() fails here */
#define STREAM_READ_SIZE (256 * 1024)       /* bytes read per readiness event */

struct stream_room {
	struct buf wire; /* output of filters that can be sent at once */
	/* received data: valid only during the call; reads happen only from the loop, never nested */
	char scratch[STREAM_READ_SIZE];
};

struct stream_room *loop_stream_room(struct loop *l);

struct joined *loop_joined(struct loop *l);
void joined_begin(struct joined *all);
void joined_end(struct joined *all); /* sends them, if this was the outermost event */
