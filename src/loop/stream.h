/* SPDX-License-Identifier: Apache-2.0 */
/* stream: a buffered two-way byte stream on a non-blocking socket or pipe.
 *
 * Reading is by push while switched on (it starts off); writing copies into a queue that drains by itself. A writer
 * that honours stream_queued() against STREAM_HIGH and waits for on_drain slows down with its reader, which is how
 * a slow client slows only its own sandbox.
 *
 * No callback comes after stream_close(), stream_reset() or stream_take_fd(), and each of these may be
 * called from inside a callback. on_error is terminal: the owner must then close.
 *
 * A filter (TLS) may stand between the owner and the wire; the owner then sees and writes plain bytes, and
 * stream_queued() counts those on the wire. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

struct buf;
struct loop;
struct share;
struct stream;

#define STREAM_HIGH (256 * 1024) /* stop producing above this many queued bytes */
#define STREAM_LOW (64 * 1024)   /* on_drain comes when the queue falls to this again */

struct stream_ops {
	void (*on_data)(void *user, struct str data); /* borrowed for the call */
	void (*on_eof)(void *user);                   /* the peer writes no more; writing may go on */
	void (*on_drain)(void *user);                 /* may be NULL */
	void (*on_error)(void *user, int no);         /* errno value; may come instead of any of the above */
	void (*on_ready)(void *user);                 /* the filter can be written through from now on; may be NULL */
	void (*on_moved)(void *user, size_t n);       /* so many bytes have gone where stream_splice() told them to */
};

/* A filter does no I/O: bytes in, bytes out. What has to go to the peer is appended to *out, also when the call fails;
 * a negative errno breaks the stream after that. */
struct stream_filter {
	const struct stream_filter_ops *ops;
};

#define STREAM_FILTER_READY 1 /* decode: the handshake is over, told once */
#define STREAM_FILTER_END 2   /* decode: behind these bytes the peer has ended its side */

struct stream_filter_ops {
	/* All of the bytes are taken. *ret_plain is borrowed until the next decode of any filter. Returns flags. */
	int (*decode)(struct stream_filter *f, struct str wire, struct str *ret_plain, struct buf *out);
	int (*encode)(struct stream_filter *f, const struct str *v, size_t n, struct buf *out);
	void (*finish)(struct stream_filter *f, struct buf *out); /* says that nothing more will be written */
	void (*free)(struct stream_filter *f);
};

/* Owns fd, also when NULL is returned (out of memory, or not a socket, pipe or terminal). */
struct stream *stream_new(struct loop *l, int fd, const struct stream_ops *ops, void *user);
/* owned from now on; before the first byte goes either way */
void stream_filter(struct stream *s, struct stream_filter *f);
void stream_rebind(struct stream *s, const struct stream_ops *ops, void *user); /* another owner; reading is off then */
void stream_share(struct stream *s, struct share *sh); /* whose time it takes, see loop/share.h; NULL: nobody's */
void stream_read(struct stream *s, bool on);
/* no more than this at a time; 0: as much as there is room for */
void stream_read_max(struct stream *s, size_t n);

/* Tries at once, queues the rest; errors come through on_error later, with reading on after what the peer has sent. */
void stream_write(struct stream *s, struct str data);
void stream_writev(struct stream *s, const struct str *v, size_t n); /* up to 8 pieces in one go */
size_t stream_queued(const struct stream *s);

/* Sends up to n bytes of a file from *at on, which moves, without copying them. 0: there is no room, on_drain will
 * come. -ENODATA: the file ends there; -EOPNOTSUPP: not through this stream, or not from this file: read and write. */
ssize_t stream_sendfile(struct stream *s, int fd, off_t *at, size_t n);

/* The next n bytes that come on s are moved to another stream without passing through this process: on_moved is called
 * for them instead of on_data. It waits whenever something is queued there, so that the two go at one pace. What cannot
 * be moved comes by on_data as ever, also when one of the two is closed, breaks or gets another owner before that. 0:
 * from now on they are read again. False: not between these two. */
bool stream_splice(struct stream *s, struct stream *to, uint64_t n);
void stream_finish(struct stream *s); /* half-close once the queue is empty; a pipe is closed */
void stream_close(struct stream *s);  /* now; what is queued is lost. NULL is fine */

/* Sends what is queued, then closes; bounded by timeouts, and by loop_leaving_max(): with more of them, those that have
 * been at it for longest are closed at once, the ones that only wait for their peer first. */
void stream_close_flushed(struct stream *s);
void stream_reset(struct stream *s);   /* like close, but a TCP peer sees RST */
int stream_fd(const struct stream *s); /* borrowed */
/* frees the stream, keeps the fd open; only with an empty queue and no filter */
int stream_take_fd(struct stream *s);
