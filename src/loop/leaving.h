/* SPDX-License-Identifier: Apache-2.0 */
/* leaving: the streams of a loop that nobody owns any more and that only say goodbye. Internal to loop/.
 *
 * Each of them still has an fd, and how long it stays is up to its peer; so there is a limit to their number, or
 * clients that never hang up could use up the fds of the process just by coming again and again. */
#pragma once

#include <sys/queue.h>

struct loop;
struct stream;

TAILQ_HEAD(stream_list, stream);

struct leaving {                    /* both: the oldest first */
	struct stream_list sending; /* something is still queued */
	struct stream_list waiting; /* all is sent; the peer has not closed yet */
	size_t n, max;
};

struct leaving *loop_leaving(struct loop *l);
void leaving_end(struct leaving *all); /* all of them are closed at once */
