/* SPDX-License-Identifier: Apache-2.0 */
/* leaving: the streams of a loop that have no owner any more and are being closed. Internal to loop/.
 *
 * Each of them still holds an fd, for as long as its peer likes. Their number is limited, or clients that never
 * close their side could use up the fds of the process by reconnecting again and again. */
#pragma once

#include <sys/queue.h>

struct loop;
struct stream;

TAILQ_HEAD(stream_list, stream);

struct leaving {                    /* both lists: oldest first */
	struct stream_list sending; /* data is still queued */
	struct stream_list waiting; /* everything is sent; the peer has not closed yet */
	size_t n, max;
};

struct leaving *loop_leaving(struct loop *l);
void leaving_end(struct leaving *all); /* closes all of them immediately */
