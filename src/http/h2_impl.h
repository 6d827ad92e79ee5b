/* SPDX-License-Identifier: Apache-2.0 */
/* http/h2_impl: the session of one connection and its streams. Internal to http/h2*.c.
 *
 * nghttp2 parses and frames; it calls us while it takes bytes (h2.c), and asks for the bytes of answers when it makes
 * frames. Handlers are called from these callbacks, or from h2_run() for what had to wait: a body that is wanted again,
 * a queue that is low again, a stream that was aborted. What handlers call only notes and submits; frames are made when
 * they have returned. So no callback comes from inside a function that a handler called, as http/server.h promises. */
#pragma once

#include <nghttp2/nghttp2.h>
#include <sys/queue.h>

#include "http/conn.h"
#include "http/h2_guard.h"
#include "http/h2_head.h"
#include "loop/share.h"

TAILQ_HEAD(h2_stream_list, h2_stream);

struct h2 {
	struct http_conn *c;
	nghttp2_session *ng;
	struct h2_stream_list streams;
	struct h2_stream_list awake; /* those that have something to do */
	struct h2_guard guard;
	struct h2_head head; /* the one that is coming in: there is never more than one */
	size_t head_bytes;   /* received since it began, in whatever frames */
	bool in_head, is_trailer;
	bool ending;      /* the peer has been told to go, */
	bool calm;        /* ... at once */
	bool failed;      /* nghttp2 has given up, or we have */
	struct share own; /* of the loop's time, while its requests belong to different shares */
};

struct h2_stream {
	TAILQ_ENTRY(h2_stream) all, wake;
	struct h2 *h;
	int32_t id;
	bool is_awake;
	bool aborted;   /* by the handler: over as soon as it returns */
	bool body_eof;  /* the peer has ended its side */
	bool deferred;  /* nghttp2 waits to be told of more data */
	bool sent_head; /* some of the answer is on its way */
	bool sent_all;  /* the end of the answer is on its way */
	bool blocked;   /* the handler has been told to wait */
	struct buf in;  /* body bytes that nobody wants yet */
	struct buf out; /* of the answer, the first `off` bytes are already in frames */
	size_t off;
	size_t taken;               /* body bytes that the handler has taken */
	size_t granted;             /* window beyond the usual one */
	struct share_member member; /* in the share that its request belongs to; it never asks for a turn itself */
	uint64_t born_ms, moved_ms; /* when it began; when a byte of its answer last went out */
	struct request r;           /* last: it ends with the text of its head */
};

/* h2.c */
void h2_wake(struct h2_stream *st);            /* h2_step() comes, after the handlers that are running */
void h2_over(struct h2_stream *st, bool lost); /* on_close, and gone */
void h2_share(struct h2_stream *st, struct share *sh);

/* h2_stream.c */
extern const struct request_ops h2_request_ops;
ssize_t h2_read_answer(nghttp2_session *ng, int32_t id, uint8_t *to, size_t n, uint32_t *flags,
    nghttp2_data_source *src, void *user);
void h2_begin_body(struct h2_stream *st); /* the handler has been told of the request */
void h2_body(struct h2_stream *st, struct str data);
void h2_flush_body(void); /* all that came is delivered */
void h2_forget_body(const struct h2_stream *st);
void h2_step(struct h2_stream *st);
size_t h2_held(const struct h2_stream *st); /* bytes of its answer that wait */
void h2_drop_answer(struct h2_stream *st);
