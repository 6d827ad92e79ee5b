/* SPDX-License-Identifier: Apache-2.0 */
/* http/server: HTTP/1.1 connections with keep-alive, seen as a sequence of requests.
 *
 * For each request head that arrives the server's on_request is called with a struct http_req, whose
 * strings live until the request is over. The handler sets rq->ops and rq->user before it returns (or
 * answers at once), then gets the body in pieces. It answers either whole (http_respond) or in pieces
 * (http_begin, http_write, http_end). A request is over when both its body has been read and its response
 * ended, or when the connection is lost; then on_close comes, exactly once, last, and rq is gone.
 *
 * on_body_end comes once the body is complete, also when there is none. After the response has ended the rest of the
 * body is dropped without further callbacks (up to a MiB; beyond that the connection is closed). A peer that closes its
 * sending side while a request is under way counts as gone (lost). No callback ever comes from inside one of the
 * functions below: they take effect when the handler returns. All of them are no-ops on a request that is lost.
 *
 * Bounds: head ≤ HTTP_HEAD_MAX bytes and HTTP_HEADERS_MAX fields (431), one request at a time per connection
 * (pipelined ones wait). Ambiguous framing (two lengths, length with chunked, obs-fold, bad chunks, NUL) is refused
 * with 400 and the connection closed. "Expect: 100-continue" is answered when the body is first wanted.
 *
 * The body arrives only while wanted: http_body_want(rq, false) stops reading from the peer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/str.h"

struct loop;
struct http_conn;
struct http_req;
struct http_secure;
struct http_server;
struct share;
struct stream;

#define HTTP_HEAD_MAX (32 * 1024)
#define HTTP_HEADERS_MAX 100

struct http_header {
	struct str name, value; /* value without surrounding blanks */
};

struct http_headers { /* plain list; names compare without case */
	struct http_header v[HTTP_HEADERS_MAX];
	size_t n;
};

/* The first of that name; STR_NULL (p == NULL) when absent. */
struct str http_header_get(const struct http_headers *h, const char *name);
/* Is the token in the comma list(s) of that name? Without case. */
bool http_header_has_token(const struct http_headers *h, const char *name, const char *token);

struct http_req_ops {
	void (*on_body)(struct http_req *rq, struct str data); /* NULL: the body is read and dropped */
	void (*on_body_moved)(struct http_req *rq, size_t n);  /* with http_body_splice() only */
	void (*on_body_end)(struct http_req *rq);              /* may be NULL */
	void (*on_drain)(struct http_req *rq);                 /* response queue is low again; may be NULL */
	/* last call; lost: the peer or the connection went away early */
	void (*on_close)(struct http_req *rq, bool lost);
};

struct http_req {
	struct str method; /* "GET" */
	struct str target; /* as sent: "/files?path=a%20b" */
	struct str path;   /* up to '?', still encoded */
	struct str query;  /* behind '?', still encoded, may be empty */
	struct http_headers headers;
	struct str host;        /* Host without blanks, may be empty */
	int64_t content_length; /* -1: chunked; 0: none */
	bool upgrade;           /* an Upgrade or CONNECT request */
	struct http_conn *conn;
	const struct http_req_ops *ops; /* set by the handler */
	void *user;                     /* set by the handler */
};

struct http_server_ops {
	void (*on_request)(void *user, struct http_req *rq);
	void (*on_conn)(void *user, int fd, bool *ret_refuse); /* may be NULL; lets init check SO_PEERCRED */
};

/* Serves the connections of a listening socket (owned from now on; -1: none, only adopted ones). */
struct http_server *http_server_new(struct loop *l, int listen_fd, const struct http_server_ops *ops, void *user);

/* Serves those of a further one, too; owns fd, also on failure. secure: what protects its connections (http/tls.h),
 * NULL: nothing. Their handshakes have a time limit and a limit of number: with more under way than that the oldest
 * gives its place up. Idle ones have a limit of number of their own, as each holds much more memory than a plain
 * one. */
int http_server_listen(struct http_server *s, int fd, struct http_secure *secure);

/* The same, but each connection is plain or protected, as its first byte tells. */
int http_server_listen_both(struct http_server *s, int fd, struct http_secure *secure);

/* Serves a connected stream socket, too; owns fd, also on failure. -EACCES: on_conn refused it. */
int http_server_adopt(struct http_server *s, int fd);

/* With so many connections open (4096 at first) each new one takes the place of an idle one, which is closed at once:
 * of the address with most connections (see http/peers.h) the one that has had no request for longest. One that is in
 * the middle of a request or an answer, or has come within the last second and not asked yet, is never closed for
 * another; while all are such, accepting pauses. */
void http_server_limit(struct http_server *s, size_t max_conns);
/* from first byte to last: 30 s at first; then 408 */
void http_server_head_timeout(struct http_server *s, uint64_t ms);
void http_server_stop_accepting(struct http_server *s);
size_t http_server_conns(const struct http_server *s);
uint64_t http_server_h2_requests(const struct http_server *s); /* how many came by HTTP/2 */
uint64_t http_server_evicted(const struct http_server *s);     /* how many were closed for others */

/* Drops all connections at once but that of rq, each as http_abort() would; on_close comes before it returns. */
void http_server_drop_others(struct http_server *s, const struct http_req *rq);

/* Drops all connections at once. on_close comes before it returns, but for the request whose callback it is called
 * from: there it comes after. */
void http_server_free(struct http_server *s);

/* Answer whole. headers: "Name: value\r\n" lines or NULL; never Content-Length, Transfer-Encoding or Connection.
 * Content-Length is always added (also 0; not for 204/304). For HEAD the body is left out. */
void http_respond(struct http_req *rq, int status, const char *content_type, const char *headers, struct str body);

/* Answer in pieces. length < 0: chunked (HTTP/1.0 peers: until close). */
void http_begin(struct http_req *rq, int status, const char *content_type, const char *headers, int64_t length);
void http_write(struct http_req *rq, struct str data); /* empty data is ignored */
/* From a file, see stream_sendfile(); only with a length. 0: not now, on_drain will come. -EOPNOTSUPP: use
 * http_write(). */
ssize_t http_sendfile(struct http_req *rq, int fd, off_t *at, size_t n);
struct sockaddr_storage;
int http_peer(const struct http_req *rq, struct sockaddr_storage *ret); /* who sent it; -errno */
/* bytes that wait: stop above STREAM_HIGH until on_drain */
size_t http_queued(const struct http_req *rq);
void http_end(struct http_req *rq);

void http_body_want(struct http_req *rq, bool on); /* default on */

/* From on_body: the rest of the body goes to a stream as it is, past the handler, where it can (see stream_splice()):
 * no TLS, no HTTP/2, a length, and enough of it left to be worth the while. on_body_moved tells how much has gone. */
void http_body_splice(struct http_req *rq, struct stream *to);

/* The same for the answer: the stream that the rest of its body may be moved to, and how much that is. NULL:
 * http_write() only. http_moved() counts what has gone. */
struct stream *http_splice_to(const struct http_req *rq, uint64_t *ret_left);
void http_moved(struct http_req *rq, size_t n);

/* What is done for the request and its answer from now on is part of a share (loop/share.h), until the request is over.
 * An HTTP/2 connection is part of the share of its requests, or of one of its own if they belong to several. */
void http_share(struct http_req *rq, struct share *sh);
void http_close_after(struct http_req *rq); /* no keep-alive after this response */
/* breaks the connection with a reset; on_close follows */
void http_abort(struct http_req *rq);
bool http_is_secure(const struct http_req *rq); /* it came over TLS */
bool http_started(const struct http_req *rq);   /* a response head has gone out */
bool http_ended(const struct http_req *rq);

/* Takes the connection out of the server for a tunnel: sends raw head bytes (may be empty) first; *ret_early gets bytes
 * that came behind the head. Afterwards the stream is the caller's, who must stream_rebind() or close it before the
 * loop goes on; on_close comes with lost == false. -EBUSY while a response or a body is under way, -EPIPE when the peer
 * is gone. */
int http_hijack(struct http_req *rq, struct str raw_head, struct stream **ret, struct buf *ret_early);

const char *http_reason(int status);
