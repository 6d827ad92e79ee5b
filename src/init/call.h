/* SPDX-License-Identifier: Apache-2.0 */
/* call: one Connect RPC, from its request message to its answer or the end of its stream.
 *
 * Three kinds. RPC_UNARY: one message each way. RPC_SERVER_STREAM: one enveloped message in, any number out.
 * RPC_CLIENT_STREAM: any number in, one out. start() is called with the first message (borrowed); it answers with
 * call_reply() or call_fail() then or later, or opens the stream with call_begin(). A call lives until its request
 * is over: on_gone is the last thing it hears, and whoever kept a pointer forgets it there.
 *
 * Messages are JSON or protobuf on the wire, as the client likes; handlers see JSON trees either way. Errors and the
 * end of a stream are always JSON. Requests may be compressed (gzip), answers never are. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "http/connect.h"
#include "http/route.h"
#include "init/users.h"

struct call;
struct http_req;
struct init;
struct pb_message;
struct timer;

#define CALL_BODY_MAX (16 * 1024 * 1024)  /* request of a unary or server-streaming call */
#define CALL_REPLY_MAX (48 * 1024 * 1024) /* fits the connection's queue */
#define CALL_TEXT_MAX 8192                /* of an error: holds two paths */

enum rpc_kind { RPC_UNARY, RPC_SERVER_STREAM, RPC_CLIENT_STREAM };

struct rpc {
	struct http_route on; /* "/process.Process/Start", by POST */
	enum rpc_kind kind;
	void (*start)(struct call *c, json_t *msg);
	void (*more)(struct call *c, json_t *msg); /* RPC_CLIENT_STREAM: each later message */
	void (*end)(struct call *c);               /* RPC_CLIENT_STREAM: no more will come */
	const struct pb_message *request, *response;
};

struct call {
	struct init *in;
	struct http_req *rq;
	const struct rpc *rpc;
	struct user user;                 /* whom the work is done for */
	struct userdb users;              /* valid in start() */
	bool binary;                      /* its messages are protobuf */
	bool gzip;                        /* those of the client may be compressed */
	bool answered;                    /* replied, failed or ended: nothing may be sent any more */
	void (*on_gone)(struct call *c);  /* may be NULL */
	void (*on_drain)(struct call *c); /* the stream's queue is low again; may be NULL */
	void *state;                      /* of whoever set on_gone */
	void *stream;                     /* RPC_CLIENT_STREAM: the handler's, freed with the call */
	struct buf body;                  /* what has arrived of the request */
	struct timer *deadline;           /* of one that is not a server stream: those have their own */
	bool started, refused;
	bool paused, taking; /* RPC_CLIENT_STREAM: messages are not wanted now; are being served */
};

/* Takes a request that routes.c matched. */
void call_new(struct init *in, struct http_req *rq, const struct rpc *rpc);

/* The user that the request's Authorization header names: 1, 0 for none, -ENOENT if users has no such user. */
int call_user(const struct http_req *rq, const struct userdb *users, struct user *ret, struct err *e);

void call_reply(struct call *c, const json_t *msg);
void call_reply_empty(struct call *c);
void call_fail(struct call *c, enum connect_code code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Server streams. A failure before call_begin() still answers HTTP 200 with the error in the end-of-stream message. */
void call_begin(struct call *c);
void call_send(struct call *c, const json_t *msg);
/* as call_send() would send it, for call_send_raw() */
void call_put(const struct call *c, struct buf *out, const json_t *msg);
void call_send_raw(struct call *c, struct str envelopes); /* already framed, in the form that c->binary says */
void call_end(struct call *c);
size_t call_queued(const struct call *c);

/* An answer that is one list, put together item by item because it may be long. */
struct call_list {
	struct call *c;
	const char *field;
	struct buf out;
	size_t n;
};

void call_list_begin(struct call_list *l, struct call *c, const char *field);
int call_list_add(struct call_list *l, const json_t *item); /* -E2BIG: too long an answer */
void call_list_reply(struct call_list *l);
void call_list_done(struct call_list *l);

void call_want(struct call *c, bool on); /* RPC_CLIENT_STREAM: pause the messages */

/* Resolves a path field of the message as this user means it. -EINVAL (the call has failed). */
int call_path(struct call *c, const json_t *msg, const char *field, char **ret);
bool call_legacy(const struct call *c);             /* a client that fails on fields it does not know */
int call_timeout_ms(struct call *c, uint64_t *ret); /* 0: none. -EINVAL (the call has failed) */
uint64_t call_keepalive_ms(const struct call *c);
