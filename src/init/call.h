/* SPDX-License-Identifier: Apache-2.0 */
/* call: one Connect RPC, from its request message to its answer or the end of its stream.
 *
 * There are three kinds. RPC_UNARY: one message each way. RPC_SERVER_STREAM: one enveloped message in, any number
 * out. RPC_CLIENT_STREAM: any number in, one out. start() is called with the first message (borrowed). It answers
 * with call_reply() or call_fail(), at once or later, or opens the stream with call_begin(). A call lives until
 * its request is over. on_gone is its last callback: every pointer to the call must be dropped there.
 *
 * Messages on the wire are JSON or protobuf, as the client chooses; handlers see JSON trees either way. Errors and
 * the end-of-stream message are always JSON. Requests may be compressed with gzip; answers are never compressed. */
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

#define CALL_BODY_MAX (16 * 1024 * 1024)  /* body of a unary or server-streaming request */
#define CALL_REPLY_MAX (48 * 1024 * 1024) /* fits into the connection's output queue */
#define CALL_TEXT_MAX 8192                /* of an error message: holds two paths */

enum rpc_kind { RPC_UNARY, RPC_SERVER_STREAM, RPC_CLIENT_STREAM };

struct rpc {
	struct http_route on; /* "/process.Process/Start", by POST */
	enum rpc_kind kind;
	void (*start)(struct call *c, json_t *msg);
	void (*more)(struct call *c, json_t *msg); /* RPC_CLIENT_STREAM: each later message */
	void (*end)(struct call *c);               /* RPC_CLIENT_STREAM: no more messages follow */
	const struct pb_message *request, *response;
};

struct call {
	struct init *in;
	struct http_req *rq;
	const struct rpc *rpc;
	struct user user;                 /* the user on whose behalf the call runs */
	struct userdb users;              /* valid in start() */
	bool binary;                      /* messages are protobuf */
	bool gzip;                        /* messages of the client may be compressed */
	bool answered;                    /* replied, failed or ended: nothing more may be sent */
	void (*on_gone)(struct call *c);  /* may be NULL */
	void (*on_drain)(struct call *c); /* the stream's output queue is low again; may be NULL */
	void *state;                      /* owned by the code that set on_gone */
	void *stream;                     /* RPC_CLIENT_STREAM: state of the handler, freed with the call */
	struct buf body;                  /* the part of the request body that has arrived */
	struct timer *deadline;           /* not for server streams, which have deadlines of their own */
	bool started, refused;
	bool paused, taking; /* RPC_CLIENT_STREAM: delivery of messages is paused; take_messages() is running */
};

/* Serves a request that routes.c matched. */
void call_new(struct init *in, struct http_req *rq, const struct rpc *rpc);

/* The user named in the request's Authorization header: 1, 0 if there is none, -ENOENT if the user does not exist. */
int call_user(const struct http_req *rq, const struct userdb *users, struct user *ret, struct err *e);

void call_reply(struct call *c, const json_t *msg);
void call_reply_empty(struct call *c);
void call_fail(struct call *c, enum connect_code code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Server streams. A failure before call_begin() is answered with HTTP 200 and the error in the end-of-stream
 * message. */
void call_begin(struct call *c);
void call_send(struct call *c, const json_t *msg);
/* Appends the envelope that call_send() would send, for call_send_raw(). */
void call_put(const struct call *c, struct buf *out, const json_t *msg);
void call_send_raw(struct call *c, struct str envelopes); /* already framed, in the encoding of c->binary */
void call_end(struct call *c);
size_t call_queued(const struct call *c);

/* An answer that consists of one list. It may be long, so it is serialized item by item. */
struct call_list {
	struct call *c;
	const char *field;
	struct buf out;
	size_t n;
};

void call_list_begin(struct call_list *l, struct call *c, const char *field);
int call_list_add(struct call_list *l, const json_t *item); /* -E2BIG: the answer is too long */
void call_list_reply(struct call_list *l);
void call_list_done(struct call_list *l);

void call_want(struct call *c, bool on); /* RPC_CLIENT_STREAM: pauses or resumes delivery of messages */

/* Resolves a path field of the message relative to the user's home. -EINVAL (the call has failed). */
int call_path(struct call *c, const json_t *msg, const char *field, char **ret);
bool call_legacy(const struct call *c);             /* the client fails on fields that it does not know */
int call_timeout_ms(struct call *c, uint64_t *ret); /* 0: none. -EINVAL (the call has failed) */
uint64_t call_keepalive_ms(const struct call *c);
