/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/warden_link: the front's end of the socket to the warden: requests, their replies, events.
 *
 * Each request gets exactly one final reply through its callback (RE_LIST_ITEMs and RE_KEPT_ITEMs come before it,
 * with `more` set), never from inside the call that sends it. If the warden is lost, the front exits. */
#pragma once

#include <stdbool.h>

#include "ipc/msg.h"

struct buf;
struct loop;
struct policy;
struct warden_link;
struct warden_call;

struct warden_reply {
	int no;           /* 0, or an errno value */
	const char *text; /* message, if no != 0 */
	/* the message itself: RE_HELLO, RE_USAGE, RE_LIST_ITEM, RE_IMAGE, RE_KEPT_ITEM */
	const struct msg_head *msg;
	bool more; /* further replies to this request follow */
	int fd;    /* OP_CONNECT, OP_DIAL, OP_TLS_FILE, ...: now owned by the receiver; else -1 */
};

typedef void warden_fn(void *user, const struct warden_reply *re);

struct warden_ops {
	void (*on_exited)(void *user, const struct msg_exited *m);
	void (*on_oom)(void *user, const struct msg_oom *m);
	void (*on_shutdown)(void *user, const struct msg_shutdown *m);
	void (*on_log_level)(void *user, const struct msg_level *m);
	void (*on_refused)(void *user, const struct msg_refused *m);
	void (*on_blocked)(void *user, const struct msg_blocked *m);
	void (*on_tls_files)(void *user);
	void (*on_answered)(void *user, enum msg_type op, uint64_t us); /* a request got its final reply */
	void (*on_egress)(void *user, int fd);                          /* a socket to atoll-egress, owned */
	void (*on_agent)(void *user, int fd);                           /* a socket to atoll-agent, owned */
	void (*on_oidc)(void *user, int fd);                            /* a socket to atoll-oidc, owned */
	void (*on_webhooks)(void *user, int fd);                        /* a socket to atoll-webhooks, owned */
	void (*on_lost)(void *user, const char *why);
};

/* Takes ownership of fd. */
struct warden_link *warden_link_new(struct loop *l, int fd, const struct warden_ops *ops, void *user);
void warden_link_free(struct warden_link *w);
bool warden_link_due(const struct warden_link *w); /* a request has no reply yet, and is not cancelled */

/* Appends a message and the policy (NULL: none); n_policy_at: the offset of the policy's length in the message. */
void warden_compose(struct buf *out, const void *msg, size_t size, size_t n_policy_at, const struct policy *p);

/* msg: a whole message; its head is filled in here. */
struct warden_call *warden_ask(struct warden_link *w, enum msg_type op, void *msg, size_t size, warden_fn *fn,
    void *user);
struct warden_call *warden_ask_id(struct warden_link *w, enum msg_type op, const char *id, const char *request,
    warden_fn *fn, void *user); /* request: the correlation id; "": none */

/* Cancels: fn is not called, and an fd in the reply is closed. NULL is fine. */
void warden_cancel(struct warden_call *c);

/* To be called once a second. If a reply has been due for a while, the warden is probed with another request. If
 * it does not answer that either, it is silent: stopped or hung. Then pending OP_CONNECT and OP_USAGE requests
 * fail with EHOSTDOWN, and callers should begin nothing new. This state ends with the next message from the
 * warden. */
void warden_link_tick(struct warden_link *w);
bool warden_silent(const struct warden_link *w);
