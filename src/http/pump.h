/* SPDX-License-Identifier: Apache-2.0 */
/* http/pump: passes one request on to an upstream server, and one answer back.
 *
 * A pump is embedded in its owner, which handles the client's request (struct http_req) and finds a connection to
 * the upstream. The owner forwards the client's events to the pump (pump_body() and so on), gives it a connection
 * with pump_send(), and is notified when the answer is complete or the upstream is lost. The pump does the rest:
 * chunks, back-pressure in both directions, a retry after a dead idle connection, splicing of bodies, observers.
 * docs/internals/pump.md has the rules and their reasons.
 *
 * Callbacks run from the loop, except that pump_lose() calls on_lost and pump_send() may call it. The owner may
 * call any function below in them. There are no callbacks after pump_drop() until the next pump_send(), and none
 * after pump_done(). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

struct http_answer;
struct http_call;
struct http_call_ops;
struct http_req;
struct loop;
struct share;
struct stream;

enum pump_end {
	PUMP_DONE, /* the answer was passed on, or the owner has answered */
	PUMP_LEFT, /* the client disconnected */
	PUMP_BROKE /* the upstream was lost, or could not be reached */
};

/* Sees the bodies before they are passed on. Any function may be NULL. */
struct pump_observer_ops {
	/* True if all bytes must be shown, so that none are spliced. Called again for each piece. */
	bool (*reads_body)(void *user), (*reads_answer)(void *user);
	void (*on_body)(void *user, struct str data);
	void (*on_body_moved)(void *user, size_t n); /* n bytes were spliced */
	void (*on_body_end)(void *user);
	void (*on_answer)(void *user, int status, int64_t content_length); /* -1: unknown */
	void (*on_data)(void *user, struct str data);
	void (*on_end)(void *user, enum pump_end how); /* once, before the client gets the last byte */
};

struct pump_observer { /* embedded in its owner */
	const struct pump_observer_ops *ops;
	void *user;
	struct pump_observer *next;
};

struct pump_ops {
	/* Appends the request head to send, including its empty line. Called for each attempt. */
	void (*put_request)(void *user, struct buf *out);
	/* Appends the header lines of the answer for the client, except those of its framing. Negative: the answer
	 * is not passed on, and on_lost is called. */
	int (*put_answer)(void *user, const struct http_answer *a, struct buf *out);
	/* The upstream has accepted an upgrade that the client requested: call pump_take(), or refuse. NULL:
	 * on_lost. */
	void (*on_upgrade)(void *user, const struct http_answer *a);
	/* An idle connection turned out to be dead, and the upstream has not processed the request: get a fresh
	 * connection for pump_send(). False or NULL: give up; on_lost is called. */
	bool (*reconnect)(void *user);
	/* The answer is complete. kept: the connection, for the next request, owned by the callee; it is not read.
	 * NULL: it is closed. */
	void (*on_end)(void *user, struct stream *kept);
	/* The upstream is lost. cut: an answer had started, and the client's connection was reset; otherwise the
	 * owner must answer. no: an errno value; EPROTO: its answer could not be passed on. */
	void (*on_lost)(void *user, int no, bool cut);
	bool splice; /* bodies may be spliced */
};

struct pump { /* all zero: inactive */
	struct loop *loop;
	struct http_req *rq;
	struct share *share;
	const struct pump_ops *ops;
	void *user;
	struct pump_observer *observers;
	struct http_call *call; /* NULL: not connected, or finished */
	uint64_t up, down;      /* bytes of the bodies */
	bool reused;            /* the connection has served another request before */
	bool body_sent;         /* part of the body was sent: no retry */
	bool body_ended;
	bool answered;
	bool over; /* the observers' on_end was called */
};

/* The client's body is not read before pump_send(). share: the share that is charged (loop/share.h), or NULL. */
void pump_init(struct pump *p, struct loop *l, struct http_req *rq, struct share *share, const struct pump_ops *ops,
    void *user);

/* Observers are called in this order. Must be called before the first callback of the request; the observer must
 * live as long as the pump. */
void pump_observe(struct pump *p, struct pump_observer *o);

/* The client's events, see struct http_req_ops. */
void pump_body(struct pump *p, struct str data);
void pump_body_moved(struct pump *p, size_t n);
void pump_body_end(struct pump *p);
void pump_drain(struct pump *p);

/* Sends the request on this connection. Owns fd, also on failure. reused: it was idle, so it may be dead. */
void pump_send(struct pump *p, int fd, bool reused);
void pump_send_on(struct pump *p, struct stream *s, bool reused); /* as pump_send() */

/* Called in on_upgrade: returns client and upstream as two streams, with the bytes that have already arrived from
 * each. head: sent to the client first. -EPIPE: on_lost was called. Otherwise the caller owns both, see
 * http_hijack() and http_call_take(). */
int pump_take(struct pump *p, struct str head, struct stream **ret_client, struct buf *ret_early_client,
    struct stream **ret_up, struct buf *ret_early_up);

/* Closes the connection to the upstream. */
void pump_drop(struct pump *p);
/* As pump_drop(), and discards what is still queued for the upstream. */
void pump_reset(struct pump *p);
/* The owner has found that the upstream is gone or unreachable: handled like a broken connection. */
void pump_lose(struct pump *p, int no);
/* Must be called last, when the client's request is over (on_close). */
void pump_done(struct pump *p, bool lost);
