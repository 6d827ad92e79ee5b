/* SPDX-License-Identifier: Apache-2.0 */
/* http/conn: one server connection and its current request. Internal to http/.
 *
 * All callbacks of a handler are made by conn_run(), one at a time, and never inside a function that the handler
 * called: those only record what to do and conn_kick() the connection, which then continues when the handler has
 * returned, or after the loop iteration. So a handler may answer, abort or hijack at any point. */
#pragma once

#include <sys/queue.h>

#include "http/message.h"
#include "http/peers.h"

struct http_secure;
struct stream;

struct request_ops { /* same as the functions of http/server.h with these names */
	void (
	    *respond)(struct http_req *rq, int status, const char *content_type, const char *headers, struct str body);
	void (*begin)(struct http_req *rq, int status, const char *content_type, const char *headers, int64_t length);
	void (*write)(struct http_req *rq, struct str data);
	ssize_t (*sendfile)(struct http_req *rq, int fd, off_t *at, size_t n); /* NULL: not possible */
	void (*end)(struct http_req *rq);
	size_t (*queued)(const struct http_req *rq);
	void (*want)(struct http_req *rq, bool on);
	void (*abort)(struct http_req *rq);
	int (*hijack)(struct http_req *rq, struct str raw_head, struct stream **ret, struct buf *ret_early);
	void (*body_splice)(struct http_req *rq, struct stream *to); /* this and the next: NULL if not possible */
	struct stream *(*splice_to)(const struct http_req *rq, uint64_t *ret_left);
	void (*share)(struct http_req *rq, struct share *sh);
};

extern const struct request_ops h1_ops;

struct request {
	struct http_req pub;
	const struct request_ops *ops; /* functions of its protocol */
	bool is_head, http10, keep;
	bool expects;             /* "100-continue" is still to be sent */
	bool want;                /* the handler accepts body data now */
	bool body_done, end_told; /* the whole body is read; on_body_end was called */
	bool started, ended;      /* of the answer */
	bool chunked, no_body;    /* of the answer */
	bool hijacked, over;
	int64_t left;   /* bytes still to be written, if the answer has a length */
	size_t dropped; /* body bytes that arrived after the answer */
	size_t head_n;  /* bytes in head */
	char head[];
};

/* The HTTP/2 implementation of a connection. It is called through pointers, so that programs without HTTP/2 do not
 * link it. */
struct h2;
struct h2_ops {
	struct h2 *(*open)(struct http_conn *c); /* NULL: out of memory */
	/* Bytes have arrived (all are consumed), or there is work to do. */
	void (*run)(struct h2 *h, struct str data);
	void (*sweep)(struct h2 *h, uint64_t now_ms); /* periodically, while there are requests */
	/* The peer should send no more requests, and disconnect after the last. */
	void (*stop)(struct h2 *h);
	void (*lost)(struct h2 *h); /* the connection is lost: ends all requests and frees h */
};

struct http_conn {
	struct http_server *server; /* NULL once the server is freed */
	struct http_conn *prev, *next;
	struct peer *peer;              /* the peer that it is counted for */
	TAILQ_ENTRY(http_conn) shaking; /* while is_shaking */
	TAILQ_ENTRY(http_conn) idle;    /* list of that peer, while is_idle */
	struct loop *loop;
	struct stream *s;             /* NULL: closed, reset or handed over */
	struct http_secure *secure;   /* NULL: plain */
	struct http_secure *offered;  /* plain until its first byte shows TLS; NULL: always plain */
	struct stream_filter *filter; /* of s */
	struct h2 *h2;                /* NULL: HTTP/1.x */
	const struct h2_ops *h2_ops;
	size_t n_streams; /* open requests of HTTP/2; rq is the one of HTTP/1.x */
	struct request *rq;
	struct message msg;
	struct buf in;      /* unparsed bytes */
	struct str cur;     /* while running: what is left of them, or of the bytes just read */
	size_t scanned;     /* bytes of the incoming head that were scanned */
	uint64_t since_ms;  /* start of the idle time, or of the incoming head */
	size_t moved;       /* body bytes that were spliced but not reported yet */
	size_t unsent;      /* queued bytes of earlier answers, at the last check */
	uint64_t unsent_ms; /* time of the last change of unsent */
	bool is_shaking;    /* during the TLS handshake */
	bool is_known;      /* the protocol is known; else the first bytes show it */
	bool in_head;
	bool is_fresh;  /* in the list fresh, by the same link: newly accepted */
	bool is_idle;   /* no open request */
	void *hand_to;  /* while leaving: see http_hand_over() */
	bool leaving;   /* to another server, at the end of the round */
	unsigned moves; /* of the current or next request, from other servers */
	bool running, kicked, drained, lost, gone;
	unsigned turn; /* requests it may still start before others get their turn */
};

struct http_server {
	struct loop *loop;
	const struct http_server_ops *ops;
	void *user;
	struct listener *doors;
	struct timer *sweep, *retry;
	struct http_conn *conns;
	struct conn_list fresh;   /* connections without a request so far, oldest first */
	struct conn_list shaking; /* oldest first */
	struct peers peers[2];    /* of plain and of TLS connections */
	size_t n_conns, max_conns, max_shaking, max_idle_secure;
	size_t n_shaking;
	uint64_t head_max_ms;
	uint64_t evicted;        /* connections closed to make room */
	const struct h2_ops *h2; /* NULL: not served */
	uint64_t h2_requests;
	size_t h2_held;            /* bytes of answers that wait for flow-control windows, in total */
	size_t h2_granted;         /* window bytes granted to clients beyond the default, in total */
	http_handed_fn *on_handed; /* NULL: hands no connection over */
	void *handed_user;
	unsigned max_moves;
	bool hands_h2; /* those of HTTP/2, too */
	bool stopped;
	bool paused;    /* out of fds or memory: accepting resumes by timer */
	bool all_busy;  /* no room, and none can be made: ... or when a connection becomes idle */
	bool crowded;   /* all places are taken, and this was logged */
	struct buf out; /* buffer for the heads of answers */
};

static inline struct request *request_of(const struct http_req *rq)
{
	return (struct request *)rq; /* the first member */
}

/* Owns fd. secure: NULL for plain HTTP. NULL: out of memory. */
struct http_conn *conn_new(struct http_server *s, int fd, struct http_secure *secure);
/* The same for a connection that another server has handed over. It is not read before conn_resume(). */
struct http_conn *conn_take(struct http_server *s, struct http_handed *h);
void conn_resume(struct http_conn *c, struct str bytes);
void conn_kick(struct http_conn *c);
void conn_lost(struct http_conn *c);   /* ends the current request, then the connection */
void conn_finish(struct http_conn *c); /* as conn_lost(), after the queue has been sent */
void conn_drop(struct http_conn *c);   /* resets it; on_close is called now, or later if a handler is running */

/* Closes a connection that has been idle or sending a head for too long, or whose peer does not read its last
 * answer. */
void conn_expire(struct http_conn *c, uint64_t now_ms, uint64_t idle_max_ms, uint64_t head_max_ms);

/* True if it can be closed without loss: no request, no queued answer, no unread input. */
bool conn_evictable(const struct http_conn *c);
void conn_evict(struct http_conn *c); /* closes such a connection; with an incomplete head it answers 503 */

/* A plain connection has started a TLS handshake: it counts as a TLS connection from now on. False: out of memory. */
bool server_shaking(struct http_server *s, struct http_conn *c, struct http_secure *secure);
void server_shaken(struct http_server *s, struct http_conn *c);        /* its handshake is complete */
void server_idle(struct http_server *s, struct http_conn *c, bool on); /* it has no request, or has one */
void server_forget(struct http_server *s, struct http_conn *c);        /* the connection is gone */
