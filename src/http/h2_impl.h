/* SPDX-License-Identifier: Apache-2.0 */
/* http/h2_impl: the session of one connection and its streams. Internal to http/h2*.c.
 *
 * nghttp2 parses and frames. It makes callbacks while it is fed (h2.c), and asks for the bytes of answers when it
 * builds frames. Handlers are called in these callbacks, or by h2_run() for deferred work: a body that is wanted
 * again, a queue that is low again, a stream that was aborted. Functions that handlers call only record and
 * submit; frames are built after the handlers have returned. So no callback runs inside a function that a handler
 * called, as http/server.h promises. */
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
	struct h2_stream_list awake; /* streams with pending work */
	struct h2_guard guard;
	struct h2_head head; /* of the incoming head: there is never more than one */
	size_t head_bytes;   /* bytes received since it began, in all frames */
	bool in_head, is_trailer;
	bool ending;      /* GOAWAY was sent, */
	bool calm;        /* ... with ENHANCE_YOUR_CALM */
	bool failed;      /* nghttp2 has failed, or the session was aborted */
	struct share own; /* of the loop's time, used while its requests belong to different shares */
};

struct h2_stream {
	TAILQ_ENTRY(h2_stream) all, wake;
	struct h2 *h;
	int32_t id;
	bool is_awake;
	bool aborted;   /* by the handler: ends as soon as it returns */
	bool body_eof;  /* the peer has ended its side */
	bool deferred;  /* nghttp2 waits for nghttp2_session_resume_data() */
	bool sent_head; /* part of the answer has been sent */
	bool sent_all;  /* the end of the answer has been sent */
	bool blocked;   /* the handler was told to wait for on_drain */
	struct buf in;  /* body bytes that the handler does not want yet */
	struct buf out; /* the answer; its first `off` bytes are already in frames */
	size_t off;
	size_t taken;               /* body bytes that the handler has consumed */
	size_t granted;             /* window bytes beyond the default */
	struct share_member member; /* in the share of its request; it never asks for a turn itself */
	uint64_t born_ms, moved_ms; /* start; time of the last byte sent of its answer */
	struct request r;           /* last: ends with the text of the request head */
};

/* h2.c */
void h2_wake(struct h2_stream *st);            /* schedules h2_step(), after the running handlers */
void h2_over(struct h2_stream *st, bool lost); /* calls on_close and frees the stream */
void h2_share(struct h2_stream *st, struct share *sh);

/* h2_stream.c */
extern const struct request_ops h2_request_ops;
ssize_t h2_read_answer(nghttp2_session *ng, int32_t id, uint8_t *to, size_t n, uint32_t *flags,
    nghttp2_data_source *src, void *user);
void h2_begin_body(struct h2_stream *st); /* on_request has returned */
void h2_body(struct h2_stream *st, struct str data);
void h2_flush_body(void); /* delivers all gathered data */
void h2_forget_body(const struct h2_stream *st);
void h2_step(struct h2_stream *st);
size_t h2_held(const struct h2_stream *st); /* queued bytes of its answer */
void h2_drop_answer(struct h2_stream *st);
