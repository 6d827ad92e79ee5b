/* SPDX-License-Identifier: Apache-2.0 */
/* http/conn: one connection of the server and the request that is under way on it. Internal to http/.
 *
 * All callbacks of a handler are made by conn_run(), one at a time, and never from inside a function that the handler
 * itself called: those only note what they want and conn_kick() the connection, which then runs on when the handler
 * has returned, or after the round. So a handler may answer, abort or hijack wherever it is. */
#pragma once

#include <sys/queue.h>

#include "http/message.h"
#include "http/peers.h"

struct http_secure;
struct stream;

struct request_ops { /* as the functions of http/server.h that are called alike */
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
	void (*body_splice)(struct http_req *rq, struct stream *to); /* these two: NULL: not possible */
	struct stream *(*splice_to)(const struct http_req *rq, uint64_t *ret_left);
	void (*share)(struct http_req *rq, struct share *sh);
};

extern const struct request_ops h1_ops;

struct request {
	struct http_req pub;
	const struct request_ops *ops; /* what it came by */
	bool is_head, http10, keep;
	bool expects;             /* "100-continue" is still to be sent */
	bool want;                /* the handler takes the body now */
	bool body_done, end_told; /* all of the body is read; the handler knows */
	bool started, ended;      /* of the answer */
	bool chunked, no_body;    /* of the answer */
	bool hijacked, over;
	int64_t left;   /* bytes still to be written of an answer with a length */
	size_t dropped; /* body bytes that came after the answer */
	char head[];
};

/* What speaks HTTP/2 on a connection; behind pointers, so that programs which do not serve it do not link it. */
struct h2;
struct h2_ops {
	struct h2 *(*open)(struct http_conn *c); /* NULL: out of memory */
	/* bytes have come (all are taken), or something is to be done */
	void (*run)(struct h2 *h, struct str data);
	void (*sweep)(struct h2 *h, uint64_t now_ms); /* now and then, while requests are under way */
	/* the peer is to bring no more requests, and to leave after the last */
	void (*stop)(struct h2 *h);
	void (*lost)(struct h2 *h); /* the connection is gone: ends all requests, frees h */
};

struct http_conn {
	struct http_server *server; /* NULL once that is freed */
	struct http_conn *prev, *next;
	struct peer *peer;              /* whose it is */
	TAILQ_ENTRY(http_conn) shaking; /* while is_shaking */
	TAILQ_ENTRY(http_conn) idle;    /* of that peer, while is_idle */
	struct loop *loop;
	struct stream *s;             /* NULL: closed, reset or handed over */
	struct http_secure *secure;   /* NULL: plain */
	struct http_secure *offered;  /* plain until its first byte tells; NULL: for good */
	struct stream_filter *filter; /* of s */
	struct h2 *h2;                /* NULL: HTTP/1.x */
	const struct h2_ops *h2_ops;
	size_t n_streams; /* requests under way by HTTP/2; the one by HTTP/1.x: */
	struct request *rq;
	struct message msg;
	struct buf in;      /* bytes that wait for their turn */
	struct str cur;     /* while running: what is left of them, or of the bytes just read */
	size_t scanned;     /* of the head that is coming in */
	uint64_t since_ms;  /* idle, or receiving a head, since then */
	size_t moved;       /* bytes of the body that went past, not told yet */
	size_t unsent;      /* of earlier answers, when it was last looked at */
	uint64_t unsent_ms; /* since when this has not changed */
	bool is_shaking;    /* its handshake is under way */
	bool is_known;      /* what it speaks; else its first bytes will tell */
	bool in_head;
	bool is_fresh; /* in the list of those, by the same link: it has just come */
	bool is_idle;  /* no request is under way */
	bool running, kicked, drained, lost, gone;
	unsigned turn; /* requests that it may still begin before others have their turn */
};

struct http_server {
	struct loop *loop;
	const struct http_server_ops *ops;
	void *user;
	struct listener *doors;
	struct timer *sweep, *retry;
	struct http_conn *conns;
	struct conn_list fresh;   /* those that have not asked for anything yet, the oldest first */
	struct conn_list shaking; /* oldest first */
	struct peers peers[2];    /* of plain connections, of protected ones */
	size_t n_conns, max_conns;
	size_t n_shaking;
	uint64_t head_max_ms;
	uint64_t evicted;        /* connections closed to make room */
	const struct h2_ops *h2; /* NULL: not served */
	uint64_t h2_requests;
	size_t h2_held;    /* bytes of answers that wait for their readers' windows, in all */
	size_t h2_granted; /* bytes that clients may send beyond the usual window, in all */
	bool stopped;
	bool paused;    /* out of fds or memory: accepting goes on by the clock */
	bool all_busy;  /* no place, and none can be made: ... or when a connection becomes idle */
	bool crowded;   /* all places are taken, and the log knows it */
	struct buf out; /* where heads of answers are put together */
};

static inline struct request *request_of(const struct http_req *rq)
{
	return (struct request *)rq; /* its first member */
}

/* Owns fd. secure: NULL for plain HTTP. NULL: out of memory. */
struct http_conn *conn_new(struct http_server *s, int fd, struct http_secure *secure);
void conn_kick(struct http_conn *c);
void conn_lost(struct http_conn *c);   /* ends what is under way, then the connection */
void conn_finish(struct http_conn *c); /* the same, once all that is queued has been sent */
void conn_drop(struct http_conn *c);   /* reset; on_close comes now, or later if a handler is running */

/* Closes one that has been idle for longer than this, or has been sending a head for longer than that, or takes nothing
 * of its last answer. */
void conn_expire(struct http_conn *c, uint64_t now_ms, uint64_t idle_max_ms, uint64_t head_max_ms);

/* Has it no use for its place: no request, no answer on its way out, nothing that it has sent and we have not read? */
bool conn_evictable(const struct http_conn *c);
void conn_evict(struct http_conn *c); /* closes such a one; with an unfinished head it is told why */

/* A plain one has begun a handshake: it counts as a protected one from now on. False: out of memory. */
bool server_shaking(struct http_server *s, struct http_conn *c, struct http_secure *secure);
void server_shaken(struct http_server *s, struct http_conn *c);        /* its handshake is over */
void server_idle(struct http_server *s, struct http_conn *c, bool on); /* it has no request, or has one */
void server_forget(struct http_server *s, struct http_conn *c);        /* a connection is gone: room for another */
