/* SPDX-License-Identifier: Apache-2.0 */
/* http/call: an HTTP/1.1 client: one request on a connected socket, body and answer in pieces.
 *
 * After on_end the fd can be reused if the peer keeps the connection open: http_call_done() returns it for the
 * next call. Call it only after the whole request has been written, and be prepared to retry on an fd from an idle
 * pool. Interim answers (1xx except 101) are skipped. Callbacks never run inside a function called here, and the
 * call may be freed in any of them. A truncated answer is an error, never an end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/server.h"

struct http_call;

struct http_answer {
	int status;
	struct http_headers headers;
	int64_t content_length; /* -1: unknown or chunked */
	bool upgrade;           /* 101, or 2xx to CONNECT: get the connection with http_call_take() */
};

struct http_call_ops {
	void (*on_answer)(void *user, const struct http_answer *a); /* strings are valid until on_end */
	void (*on_data)(void *user, struct str data);
	void (*on_moved)(void *user, size_t n); /* with http_call_splice() only */
	void (*on_end)(void *user);             /* the answer is complete; not called after an upgrade */
	void (*on_drain)(void *user);           /* the queue of the request body is low again; may be NULL */
	void (*on_error)(void *user, int no);   /* connection lost or malformed answer; the last callback */
};

/* Owns fd (also on failure, then NULL). */
struct http_call *http_call_new(struct loop *l, int fd, const struct http_call_ops *ops, void *user);
/* As above, on a stream, which may have a filter. No byte of the answer may have been read yet. */
struct http_call *http_call_on(struct loop *l, struct stream *s, const struct http_call_ops *ops, void *user);

/* head: complete request head including the empty line; is_head: a HEAD request (answers have no body); is_connect: a
 * CONNECT request (any 2xx is an upgrade). */
void http_call_head(struct http_call *c, struct str head, bool is_head, bool is_connect);
void http_call_write(struct http_call *c, struct str raw); /* raw bytes: the caller does the chunk framing */
void http_call_writev(struct http_call *c, const struct str *v, size_t n); /* up to 8 pieces in one call */
size_t http_call_queued(const struct http_call *c);
void http_call_read(struct http_call *c, bool on); /* pauses or resumes the answer; default on */
bool http_call_heard(const struct http_call *c);   /* a byte has arrived from the peer */

/* The connection, as a target for splicing another message's body (see stream_splice()). */
struct stream *http_call_stream(const struct http_call *c);

/* Called in on_data: moves up to max bytes of the rest of the answer to another stream, bypassing the owner, if
 * the answer has a length. on_moved reports how much was moved; bytes that cannot be moved are passed to on_data
 * as usual. */
void http_call_splice(struct http_call *c, struct stream *to, uint64_t max);
int http_call_done(struct http_call *c, bool *ret_reusable); /* frees; returns the fd, or -1 if it had to be closed */
struct stream *http_call_keep(struct http_call *c);          /* frees; returns the stream, or NULL in that case */

/* Frees; returns the connection after an upgrade, which the new owner must stream_rebind() at once, or NULL if it
 * broke. */
struct stream *http_call_take(struct http_call *c, struct buf *ret_early);

/* Reads what has arrived without waiting for the loop. Must not be called in a callback of the call. The callbacks
 * may free the call. */
void http_call_pull(struct http_call *c);
void http_call_free(struct http_call *c);  /* closes; NULL is fine */
void http_call_reset(struct http_call *c); /* ... and discards what is still queued */
