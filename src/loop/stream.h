/* SPDX-License-Identifier: Apache-2.0 */
/* stream: a buffered two-way byte stream on a non-blocking socket or pipe.
 *
 * Reading is by push while switched on (it starts off); writing copies into a queue that drains by
 * itself. A writer that honours stream_queued() against STREAM_HIGH and waits for on_drain slows
 * down with its reader, which is how a slow client slows only its own sandbox.
 *
 * No callback comes after stream_close(), stream_reset() or stream_take_fd(), and each of these may be
 * called from inside a callback. on_error is terminal: the owner must then close. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct loop;
struct stream;

#define STREAM_HIGH (256 * 1024)	/* stop producing above this many queued bytes */
#define STREAM_LOW (64 * 1024)		/* on_drain comes when the queue falls to this again */

struct stream_ops {
	void (*on_data)(void *user, struct str data);	/* borrowed for the call */
	void (*on_eof)(void *user);			/* the peer writes no more; writing may go on */
	void (*on_drain)(void *user);			/* may be NULL */
	void (*on_error)(void *user, int no);		/* errno value; may come instead of any of the above */
};

/* Owns fd, also when NULL is returned (out of memory, or not a socket, pipe or terminal). */
struct stream *stream_new(struct loop *l, int fd, const struct stream_ops *ops, void *user);
void stream_read(struct stream *s, bool on);

/* Tries at once, queues the rest; errors come through on_error later, with reading on after what the peer has sent. */
void stream_write(struct stream *s, struct str data);
void stream_writev(struct stream *s, const struct str *v, size_t n);	/* up to 8 pieces in one go */
size_t stream_queued(const struct stream *s);
void stream_finish(struct stream *s);			/* half-close once the queue is empty; a pipe is closed */
void stream_close(struct stream *s);			/* now; what is queued is lost. NULL is fine */
void stream_close_flushed(struct stream *s);		/* sends what is queued (bounded by timeouts), then closes */
void stream_reset(struct stream *s);			/* like close, but a TCP peer sees RST */
int stream_fd(const struct stream *s);			/* borrowed */
int stream_take_fd(struct stream *s);			/* frees the stream, keeps the fd open; only with an empty queue */
