/* SPDX-License-Identifier: Apache-2.0 */
/* http/pump: one request passed on to a server behind us, and one answer passed back.
 *
 * A pump is part of its owner, who answers for the client's request (struct http_req) and finds a connection to the
 * upstream. The owner hands what it hears from the client to the pump (pump_body() and so on), gives it a connection
 * with pump_send(), and is told when the answer is complete or the upstream is lost. The pump does the rest: chunks,
 * back-pressure both ways, a second try on a dead idle connection, moving bodies past this process, observers.
 * docs/internals/pump.md has the rules and why they are so.
 *
 * Callbacks of the pump come from the loop, but that pump_lose() calls on_lost and pump_send() may call it. The owner
 * may call any function below from them. None comes after pump_drop() until the next pump_send(), and none after
 * pump_done(). */
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
	PUMP_DONE, /* the answer has passed, or the owner has answered */
	PUMP_LEFT, /* the client has gone */
	PUMP_BROKE /* the upstream has gone, or could not be reached */
};

/* Sees the bodies before they go on. Any function may be NULL. */
struct pump_observer_ops {
	/* All bytes must be shown: none is moved past this process. Asked again with each piece. */
	bool (*reads_body)(void *user), (*reads_answer)(void *user);
	void (*on_body)(void *user, struct str data);
	void (*on_body_moved)(void *user, size_t n); /* so many went past */
	void (*on_body_end)(void *user);
	void (*on_answer)(void *user, int status, int64_t content_length); /* -1: not known */
	void (*on_data)(void *user, struct str data);
	void (*on_end)(void *user, enum pump_end how); /* once, before the client gets the last byte */
};

struct pump_observer { /* part of its owner */
	const struct pump_observer_ops *ops;
	void *user;
	struct pump_observer *next;
};

struct pump_ops {
	/* The head of the request as it goes on, with its empty line. For each try. */
	void (*put_request)(void *user, struct buf *out);
	/* The header lines of the answer for the client, but those of its framing. Less than 0: it is not passed on,
	 * and on_lost comes. */
	int (*put_answer)(void *user, const struct http_answer *a, struct buf *out);
	/* The upstream has agreed to an upgrade that the client asked for: pump_take(), or refuse. NULL: on_lost. */
	void (*on_upgrade)(void *user, const struct http_answer *a);
	/* An idle connection turned out to be dead and nothing of the request was done: find one that is not idle, for
	 * pump_send(). False: give up, on_lost comes. NULL: the same. */
	bool (*reconnect)(void *user);
	/* The answer is complete. fd: the connection, for the next request, owned by the callee; -1: it is closed. */
	void (*on_end)(void *user, int fd);
	/* The upstream is gone. cut: an answer had begun, and the client's connection was reset; else the owner has to
	 * answer. no: an errno value; EPROTO: its answer could not be passed on. */
	void (*on_lost)(void *user, int no, bool cut);
	bool splice; /* bodies may be moved past this process */
};

struct pump { /* all zero: it passes nothing on */
	struct loop *loop;
	struct http_req *rq;
	struct share *share;
	const struct pump_ops *ops;
	void *user;
	struct pump_observer *observers;
	struct http_call *call; /* NULL: not connected, or over */
	uint64_t up, down;      /* bytes of the bodies */
	bool reused;            /* the connection has served another request before */
	bool body_sent;         /* some of the body has gone up: no second try */
	bool body_ended;
	bool answered;
	bool over; /* the observers were told the end */
};

/* The client's body is not read before pump_send(). share: whose time it takes (loop/share.h), or NULL. */
void pump_init(struct pump *p, struct loop *l, struct http_req *rq, struct share *share, const struct pump_ops *ops,
    void *user);

/* They are told in this order. Before the first callback of the request; the observer lives as long as the pump. */
void pump_observe(struct pump *p, struct pump_observer *o);

/* What the owner hears from the client, see struct http_req_ops. */
void pump_body(struct pump *p, struct str data);
void pump_body_moved(struct pump *p, size_t n);
void pump_body_end(struct pump *p);
void pump_drain(struct pump *p);

/* The request goes out on this connection. Owns it, also on failure. reused: it was idle, so it may be dead. */
void pump_send(struct pump *p, int fd, bool reused);
void pump_send_on(struct pump *p, struct stream *s); /* ... that has a filter */

/* From on_upgrade: client and upstream as two streams, with what had already come from each. head: sent to the client
 * first. -EPIPE: on_lost was called. Else both are the caller's, see http_hijack() and http_call_take(). */
int pump_take(struct pump *p, struct str head, struct stream **ret_client, struct buf *ret_early_client,
    struct stream **ret_up, struct buf *ret_early_up);

/* Lets go of the upstream. It sees the end of the connection. */
void pump_drop(struct pump *p);
/* The same, and nothing that is still queued for the upstream goes out. */
void pump_reset(struct pump *p);
/* The owner knows that the upstream is gone, or cannot reach it: as if the connection had broken. */
void pump_lose(struct pump *p, int no);
/* Last: the client's request is over (on_close). */
void pump_done(struct pump *p, bool lost);
