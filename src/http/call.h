/* SPDX-License-Identifier: Apache-2.0 */
/* http/call: the client end: one HTTP/1.1 request on a connected socket, body and answer in pieces.
 *
 * After on_end the fd is free again if the peer keeps the connection: http_call_done() returns it for the next call
 * (only ask for it when the request has been written whole, and use the fd of an idle pool with a second try in
 * mind). Interim answers (1xx but 101) are skipped. Callbacks never come from inside a function called here, and the
 * call may be freed in any of them. A cut answer is an error, never an end. */
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
	bool upgrade;           /* 101, or 2xx to CONNECT: take the connection with http_call_take() */
};

struct http_call_ops {
	void (*on_answer)(void *user, const struct http_answer *a); /* strings live until on_end */
	void (*on_data)(void *user, struct str data);
	void (*on_moved)(void *user, size_t n); /* with http_call_splice() only */
	void (*on_end)(void *user);             /* the answer is complete; does not come after an upgrade */
	void (*on_drain)(void *user);           /* request body queue is low again; may be NULL */
	void (*on_error)(void *user, int no);   /* connection lost or nonsense from the peer; terminal */
};

/* Owns fd (also on failure, then NULL). */
struct http_call *http_call_new(struct loop *l, int fd, const struct http_call_ops *ops, void *user);
/* The same on a stream, which may have a filter; nothing of the answer has come yet. */
struct http_call *http_call_on(struct loop *l, struct stream *s, const struct http_call_ops *ops, void *user);

/* head: complete request head including the empty line; is_head: a HEAD request (answers have no body); is_connect: a
 * CONNECT request (any 2xx is an upgrade). */
void http_call_head(struct http_call *c, struct str head, bool is_head, bool is_connect);
void http_call_write(struct http_call *c, struct str raw); /* raw bytes: the caller does the chunk framing */
void http_call_writev(struct http_call *c, const struct str *v, size_t n); /* up to 8 pieces in one go */
size_t http_call_queued(const struct http_call *c);
void http_call_read(struct http_call *c, bool on); /* pause the answer; default on */
bool http_call_heard(const struct http_call *c);   /* any byte has come from the peer */

/* The connection, for the body of another message to be moved to (see stream_splice()). */
struct stream *http_call_stream(const struct http_call *c);

/* From on_data: up to max bytes of the rest of the answer go to another stream, past the owner, if the answer has a
 * length. on_moved tells how much has gone; what cannot be moved comes by on_data as ever. */
void http_call_splice(struct http_call *c, struct stream *to, uint64_t max);
int http_call_done(struct http_call *c, bool *ret_reusable); /* frees; the fd, or -1 if it had to be closed */

/* Frees; the connection after an upgrade, for another owner to stream_rebind() at once, or NULL if it broke. */
struct stream *http_call_take(struct http_call *c, struct buf *ret_early);

/* Takes what has arrived without waiting for the loop; not from one of its own callbacks. The call may be freed by
 * these. */
void http_call_pull(struct http_call *c);
void http_call_free(struct http_call *c);  /* closes; NULL is fine */
void http_call_reset(struct http_call *c); /* ... and nothing that is still to be sent goes out */
