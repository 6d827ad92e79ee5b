/* SPDX-License-Identifier: Apache-2.0 */
/* stream: a buffered two-way byte stream on a non-blocking socket or pipe.
 *
 * Received data is pushed to the owner while reading is on (it starts off). Writing copies into a queue that is
 * sent in the background. A writer that stops when stream_queued() exceeds STREAM_HIGH and waits for on_drain is
 * slowed down to the speed of its reader, so that a slow client slows only its own sandbox.
 *
 * No callback is called after stream_close(), stream_reset() or stream_take_fd(), and each of these may be
 * called inside a callback. on_error is terminal: the owner must then close the stream.
 *
 * A filter (TLS) may be placed between the owner and the wire. The owner then reads and writes plain bytes, and
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
#define STREAM_LOW (64 * 1024)   /* on_drain is called when the queue falls to this */

struct stream_ops {
	void (*on_data)(void *user, struct str data); /* data is valid during the call only */
	void (*on_eof)(void *user);                   /* the peer writes no more; writing is still possible */
	void (*on_drain)(void *user);                 /* may be NULL */
	void (*on_error)(void *user, int no);         /* errno value; may be called instead of any of the above */
	void (*on_ready)(void *user);                 /* the filter accepts data from now on; may be NULL */
	void (*on_moved)(void *user, size_t n);       /* n bytes were moved to the target of stream_splice() */
};

extern const struct stream_ops
    stream_unowned; /* ignore everything: of a stream until its owner calls stream_rebind() */

/* A filter does no I/O: bytes in, bytes out. Data for the peer is appended to *out, even if the call fails; a
 * negative errno breaks the stream after that data was sent. */
struct stream_filter {
	const struct stream_filter_ops *ops;
};

#define STREAM_FILTER_READY 1 /* decode: the handshake is complete; reported once */
#define STREAM_FILTER_END 2   /* decode: the peer has ended its side after these bytes */

struct stream_filter_ops {
	/* Consumes all of the bytes. *ret_plain is valid until the next decode of any filter. Returns flags. */
	int (*decode)(struct stream_filter *f, struct str wire, struct str *ret_plain, struct buf *out);
	int (*encode)(struct stream_filter *f, const struct str *v, size_t n, struct buf *out);
	void (*finish)(struct stream_filter *f, struct buf *out); /* ends this side of the connection */
	void (*free)(struct stream_filter *f);
};

/* Takes ownership of fd, even if it returns NULL (out of memory, or not a socket, pipe or terminal). */
struct stream *stream_new(struct loop *l, int fd, const struct stream_ops *ops, void *user);
/* takes ownership; before the first byte is sent or received */
void stream_filter(struct stream *s, struct stream_filter *f);
void stream_rebind(struct stream *s, const struct stream_ops *ops, void *user); /* new owner; turns reading off */
void stream_share(struct stream *s, struct share *sh); /* whose time it uses, see loop/share.h; NULL: none */
void stream_read(struct stream *s, bool on);
/* maximum per read; 0: as much as there is room for */
void stream_read_max(struct stream *s, size_t n);

/* Writes what it can and queues the rest. Small writes that one event of the loop causes are joined and written
 * when the event is handled; until then stream_queued() does not count them. Errors are reported by on_error later;
 * if reading is on, after the data that the peer has sent. */
void stream_write(struct stream *s, struct str data);
void stream_writev(struct stream *s, const struct str *v, size_t n); /* up to 8 pieces in one system call */
void stream_push(struct stream *s);                                  /* writes what was joined now */
size_t stream_queued(const struct stream *s);

/* Sends up to n bytes of a file from *at on without copying them, and advances *at. 0: no room, on_drain will be
 * called. -ENODATA: end of file. -EOPNOTSUPP: not possible with this stream or this file: use read and write. */
ssize_t stream_sendfile(struct stream *s, int fd, off_t *at, size_t n);

/* Moves the next n bytes received on s to another stream without copying them through this process, and calls
 * on_moved for them instead of on_data. Pauses while data is queued in the other stream, so that both run at the
 * same speed. Bytes that cannot be moved are passed to on_data as usual, also if one of the streams is closed,
 * fails or gets another owner before that. n == 0 ends the splice. False: not possible between these two. */
bool stream_splice(struct stream *s, struct stream *to, uint64_t n);
void stream_finish(struct stream *s);           /* half-closes once the queue is empty; a pipe is closed */
bool stream_has_failed(const struct stream *s); /* also if the error is yet to be reported */
/* True: nothing has arrived since reading was turned off, not even the end. Only if it was on before. */
bool stream_is_quiet(const struct stream *s);
void stream_close(struct stream *s); /* immediately; queued data is lost. NULL is allowed */

/* Sends the queued data, then closes. Limited by timeouts and by loop_leaving_max(): above it, those that have
 * been closing for longest are closed at once, beginning with those that only wait for their peer. */
void stream_close_flushed(struct stream *s);
void stream_reset(struct stream *s);   /* like close, but a TCP peer gets an RST */
int stream_fd(const struct stream *s); /* borrowed */

/* Moving a stream to the loop of another thread, with its filter and its queue: the thread of its loop calls
 * stream_leave(), if stream_may_move(), and at the top level of a callback, not in one of the stream; then nobody
 * uses it until the other thread calls stream_enter(). It has no owner then: see stream_rebind(). Out of memory, or a
 * stream that is not to enter any more: stream_free(). */
bool stream_may_move(const struct stream *s);
void stream_leave(struct stream *s);
int stream_enter(struct stream *s, struct loop *l);
void stream_free(struct stream *s); /* closes it */
/* frees the stream but not the fd, which is returned; only with an empty queue and no filter */
int stream_take_fd(struct stream *s);
