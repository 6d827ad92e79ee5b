/* SPDX-License-Identifier: Apache-2.0 */
/* http/server: an HTTP/1.1 server with keep-alive; each connection is a sequence of requests.
 *
 * For each request head on_request is called with a struct http_req, whose strings are valid until the request is
 * over. The handler sets rq->ops and rq->user before it returns (or answers at once), then gets the body in
 * pieces. It answers either as a whole (http_respond) or in pieces (http_begin, http_write, http_end). A request
 * is over when its body has been read and its response has ended, or when the connection is lost. Then on_close is
 * called, exactly once and last, and rq is freed.
 *
 * on_body_end is called when the body is complete, also if it is empty. After the response has ended, the rest of
 * the body is dropped without further callbacks (up to 1 MiB; beyond that the connection is closed). A peer that
 * closes its sending side during a request counts as gone (lost). No callback runs inside one of the functions
 * below: they take effect when the handler returns. All of them are no-ops on a lost request.
 *
 * Limits: a head has at most HTTP_HEAD_MAX bytes and HTTP_HEADERS_MAX fields (431). A connection serves one
 * request at a time (pipelined ones wait). Ambiguous framing (two lengths, length with chunked, obs-fold, bad
 * chunks, NUL) is refused with 400 and the connection is closed. "Expect: 100-continue" is answered when the body
 * is first wanted.
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
struct stream_filter;

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
/* Whether the token is in the comma-separated list(s) of that name. Ignores case. */
bool http_header_has_token(const struct http_headers *h, const char *name, const char *token);

struct http_req_ops {
	void (*on_body)(struct http_req *rq, struct str data); /* NULL: the body is read and dropped */
	void (*on_body_moved)(struct http_req *rq, size_t n);  /* with http_body_splice() only */
	void (*on_body_end)(struct http_req *rq);              /* may be NULL */
	void (*on_drain)(struct http_req *rq);                 /* the response queue is low again; may be NULL */
	/* The last callback. lost: the connection was lost, or the peer closed it early. */
	void (*on_close)(struct http_req *rq, bool lost);
};

struct http_req {
	struct str method; /* "GET" */
	struct str target; /* as sent: "/files?path=a%20b" */
	struct str path;   /* before '?', still encoded */
	struct str query;  /* after '?', still encoded, may be empty */
	struct http_headers headers;
	struct str host;        /* Host without blanks, may be empty */
	int64_t content_length; /* -1: chunked; 0: none */
	bool upgrade;           /* an Upgrade or CONNECT request */
	struct http_conn *conn;
	const struct http_req_ops *ops; /* set by the handler */
	void *user;                     /* set by the handler */
};

/* A connection on its way from one server to another, of another thread. All zero: none. */
struct http_handed {
	struct stream *s; /* of no loop, see stream_leave() */
	struct stream_filter *filter;
	struct http_secure *secure; /* NULL: plain */
	struct buf bytes;           /* received, and not answered yet: begins with the head of a request */
	unsigned moves;             /* of this request so far */
};

struct http_server_ops {
	void (*on_request)(void *user, struct http_req *rq);
	void (*on_conn)(void *user, int fd, bool *ret_refuse); /* may be NULL; init checks SO_PEERCRED in it */
};

/* Serves the connections of a listening socket, which it owns; -1: none, only adopted connections. */
struct http_server *http_server_new(struct loop *l, int listen_fd, const struct http_server_ops *ops, void *user);

/* Also serves the connections of another socket; owns fd, also on failure. secure: their TLS (http/tls.h), NULL:
 * plain HTTP. Handshakes are limited in time and in number: beyond that number the oldest one is closed. Idle TLS
 * connections have a limit of their own, because each takes much more memory than a plain one. */
int http_server_listen(struct http_server *s, int fd, struct http_secure *secure);

/* As above, but each connection is plain or TLS, as its first byte shows. */
int http_server_listen_both(struct http_server *s, int fd, struct http_secure *secure);

/* Also serves a connected stream socket; owns fd, also on failure. -EACCES: on_conn refused it. */
int http_server_adopt(struct http_server *s, int fd);

/* Lets this server hand connections over. fn gets each of them, at the top level of the loop, and owns it; `to` is
 * what http_hand_over() was given. max_moves: a request that has moved so often stays. h2: connections that turn out to
 * be HTTP/2 are handed over at once, with to == NULL; without, they are served if http_server_h2() was called. */
typedef void http_handed_fn(void *user, struct http_handed *h, void *to);
void http_server_hands(struct http_server *s, http_handed_fn *fn, void *user, unsigned max_moves, bool h2);

/* Called in on_request, before anything else is done with the request: the connection leaves this server with the
 * request, which is over without a callback. False: not possible for this connection (HTTP/2, a queue of earlier
 * answers, a server that hands nothing over, or a request that has moved too often). */
bool http_hand_over(struct http_req *rq, void *to);

/* Whether http_hand_over() is possible for later requests of this connection. */
bool http_may_leave(const struct http_req *rq);

/* Serves a connection that another server has handed over; owns it, also on failure. */
int http_server_take(struct http_server *s, struct http_handed *h);
void http_handed_drop(struct http_handed *h); /* closes it */

/* Sets the maximum number of connections (4096 by default). Beyond it, each new connection replaces an idle one,
 * which is closed at once: of the address with the most connections (see http/peers.h), the one idle for longest.
 * A connection in the middle of a request or an answer, or one accepted within the last second that has sent no
 * request, is never closed for another; while all are such, accepting pauses. */
void http_server_limit(struct http_server *s, size_t max_conns);
/* Divides the limits of handshakes and of idle TLS connections by n, for servers that share them. */
void http_server_divide(struct http_server *s, size_t n);
/* Time limit of a request head, from its first byte to its last: 30 s by default; then 408. */
void http_server_head_timeout(struct http_server *s, uint64_t ms);
void http_server_stop_accepting(struct http_server *s);
size_t http_server_conns(const struct http_server *s);
uint64_t http_server_h2_requests(const struct http_server *s); /* number of requests over HTTP/2 */
uint64_t http_server_evicted(const struct http_server *s);     /* number of connections closed to make room */

/* Drops all connections except that of rq at once, each as http_abort() would; on_close is called before it
 * returns. */
void http_server_drop_others(struct http_server *s, const struct http_req *rq);

/* Drops all connections at once. on_close is called before it returns, except for the request in whose callback it
 * is called: there it is called afterwards. */
void http_server_free(struct http_server *s);

/* Answers as a whole. headers: "Name: value\r\n" lines or NULL; never Content-Length, Transfer-Encoding or
 * Connection. Content-Length is always added (also 0; not for 204/304). For HEAD the body is left out. */
void http_respond(struct http_req *rq, int status, const char *content_type, const char *headers, struct str body);

/* Starts an answer in pieces. length < 0: chunked (HTTP/1.0 peers: until close). */
void http_begin(struct http_req *rq, int status, const char *content_type, const char *headers, int64_t length);
void http_write(struct http_req *rq, struct str data); /* empty data is ignored */
/* Sends from a file, see stream_sendfile(); only if the answer has a length. 0: not now, on_drain will be called.
 * -EOPNOTSUPP: use http_write(). */
ssize_t http_sendfile(struct http_req *rq, int fd, off_t *at, size_t n);
struct sockaddr_storage;
int http_peer(const struct http_req *rq, struct sockaddr_storage *ret); /* address of the client; -errno */
/* Queued bytes: stop writing above STREAM_HIGH until on_drain. */
size_t http_queued(const struct http_req *rq);
void http_end(struct http_req *rq);

void http_body_want(struct http_req *rq, bool on); /* default on */

/* Called in on_body: moves the rest of the body to a stream, bypassing the handler, where possible (see
 * stream_splice()): without TLS and HTTP/2, with a length, and if enough of it is left. on_body_moved reports how
 * much was moved. */
void http_body_splice(struct http_req *rq, struct stream *to);

/* The same for the answer: the stream that the rest of its body may be moved to, and how many bytes that is. NULL:
 * use http_write(). Report moved bytes with http_moved(). */
struct stream *http_splice_to(const struct http_req *rq, uint64_t *ret_left);
void http_moved(struct http_req *rq, size_t n);

/* Charges the work for the request and its answer to a share (loop/share.h) until the request is over. An HTTP/2
 * connection belongs to the share of its requests, or to one of its own if they belong to several. */
void http_share(struct http_req *rq, struct share *sh);
void http_close_after(struct http_req *rq); /* no keep-alive after this response */
/* Resets the connection; on_close follows. */
void http_abort(struct http_req *rq);
bool http_is_secure(const struct http_req *rq); /* it came over TLS */
bool http_started(const struct http_req *rq);   /* a response head has been sent */
bool http_ended(const struct http_req *rq);

/* Takes the connection out of the server for a tunnel. Raw head bytes (may be empty) are sent first; *ret_early
 * gets the bytes that arrived after the head. The caller then owns the stream and must stream_rebind() or close it
 * before the loop continues; on_close is called with lost == false. -EBUSY during a response or a body, -EPIPE if
 * the peer is gone. */
int http_hijack(struct http_req *rq, struct str raw_head, struct stream **ret, struct buf *ret_early);

const char *http_reason(int status);
