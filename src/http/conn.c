/* SPDX-License-Identifier: Apache-2.0 */
/* http/conn: the life cycle of a server connection: head, body, answer, next head. */
#include "http/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "http/json.h"
#include "http/secure.h"
#include "loop/loop.h"
#include "loop/stream.h"

#define IN_MAX (64 * 1024)       /* unparsed request bytes; reading stops beyond */
#define IN_KEEP (4 * 1024)       /* memory that an idle connection may keep */
#define IN_CEILING (1024 * 1024) /* never reached: IN_MAX and one read */
#define DRAIN_MAX (1024 * 1024)  /* an unwanted body is read up to this size to keep the connection */
#define TURN 16                  /* pipelined requests served in a row */
#define SHAKE_MS 10000           /* time limit of a TLS handshake */
#define TLS_HANDSHAKE 0x16       /* first byte of a TLS handshake record; no method starts with it */
#define UNSENT_MS 60000          /* an answer may be queued this long without progress */

static void conn_gone(void *p)
{
	struct http_conn *c = p;

	buf_done(&c->in);
	free(c);
}

/* Ends the connection: no more callbacks. */
static void conn_end(struct http_conn *c)
{
	if (c->gone)
		return;
	c->gone = true;
	if (c->h2)
		c->h2_ops->lost(take_ptr(&c->h2));
	stream_close(take_ptr(&c->s));
	if (c->server)
		server_forget(c->server, c);
	loop_defer(c->loop, conn_gone, c);
}

static void request_over(struct http_conn *c, bool lost)
{
	struct request *r = take_ptr(&c->rq);

	r->over = true;
	c->moved = 0;
	c->moves = 0;
	if (c->s)
		stream_share(c->s, NULL);
	c->since_ms = c->unsent_ms = loop_now_ms(c->loop);
	if (c->server)
		server_idle(c->server, c, true);
	if (r->pub.ops && r->pub.ops->on_close)
		r->pub.ops->on_close(&r->pub, lost);
	free(r);
}

void conn_lost(struct http_conn *c)
{
	if (c->rq)
		request_over(c, !c->rq->ended);
	conn_end(c);
}

void conn_finish(struct http_conn *c)
{
	stream_close_flushed(take_ptr(&c->s));
	conn_end(c);
}

/* The peer violated the protocol: answers with an error if that is still possible, and closes. */
static void conn_refuse(struct http_conn *c, int status, const char *why)
{
	autobuf struct buf body = BUF_INIT(1024), head = BUF_INIT(1024);
	autojson json_t *j = json_pack("{s:i, s:s}", "code", status, "message", why);

	json_put(&body, j);
	if (c->rq && c->rq->started) {
		stream_reset(take_ptr(&c->s));
		conn_lost(c);
		return;
	}
	buf_fmt(&head,
	    "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
	    status, http_reason(status), body.n);
	stream_writev(c->s, (struct str[]) { buf_view(&head), buf_view(&body) }, 2);
	stream_close_flushed(take_ptr(&c->s));
	conn_lost(c);
}

static void request_fill(struct request *r, struct http_conn *c)
{
	const struct message *m = &c->msg;
	struct http_req *rq = &r->pub;
	struct str rest = m->target;

	rq->method = str_of(llhttp_method_name((llhttp_method_t)m->parser.method));
	rq->target = m->target;
	rq->path = str_cut(&rest, '?');
	rq->query = rest.p ? rest : (struct str) { rq->path.p + rq->path.n, 0 };
	rq->host = http_header_get(&rq->headers, "host");
	if (!rq->host.p)
		rq->host = STR_LIT("");
	rq->content_length = m->content_length;
	rq->upgrade = m->upgrade;
	rq->conn = c;
	r->ops = &h1_ops;
	r->is_head = m->parser.method == HTTP_HEAD;
	r->http10 = m->parser.http_minor == 0;
	r->keep = m->keep_alive && m->parser.method != HTTP_CONNECT && c->server && !c->server->stopped;
	r->body_done = m->done;
	r->expects = !m->done && !r->http10 && http_header_has_token(&rq->headers, "expect", "100-continue");
	r->want = true;
}

static bool step_head(struct http_conn *c)
{
	while (c->scanned == 0 && c->cur.n >= 2 && memcmp(c->cur.p, "\r\n", 2) == 0)
		str_skip(&c->cur, 2); /* some clients send an extra CRLF after a body */
	if (c->cur.n == 0 || !c->server || c->turn == 0 || stream_queued(c->s) > STREAM_HIGH)
		return false; /* a peer that does not read its answers has to wait */
	ssize_t n = head_find(c->cur, &c->scanned);
	if (n == 0)
		return false;
	if (n < 0) {
		conn_refuse(c, n == -E2BIG ? 431 : 400,
		    n == -E2BIG ? "request head is too large" : "malformed request head");
		return false;
	}
	struct request *r = calloc(1, sizeof *r + (size_t)n);
	if (!r) {
		conn_refuse(c, 503, "out of memory");
		return false;
	}
	memcpy(r->head, c->cur.p, (size_t)n);
	r->head_n = (size_t)n;
	str_skip(&c->cur, (size_t)n);
	c->scanned = 0;
	if (message_request(&c->msg, (struct str) { r->head, (size_t)n }, &r->pub.headers) < 0) {
		free(r);
		conn_refuse(c, c->msg.refuse, c->msg.why);
		return false;
	}
	request_fill(r, c);
	c->rq = r;
	c->turn--;
	server_idle(c->server, c, false);
	c->server->ops->on_request(c->server->user, &r->pub);
	return true;
}

static bool step_body(struct http_conn *c)
{
	struct request *r = c->rq;
	const struct http_req_ops *ops = r->pub.ops;
	autobuf struct buf held = BUF_INIT(MESSAGE_HELD_MAX);
	struct str piece;

	if (!r->want && !r->ended)
		return false;
	if (r->expects && !r->ended) {
		r->expects = false;
		if (c->cur.n == 0)
			stream_write(c->s, STR_LIT("HTTP/1.1 100 Continue\r\n\r\n"));
	}
	int rc = message_body_joined(&c->msg, &c->cur, &held, &piece);
	if (rc == MESSAGE_MORE)
		return false;
	if (rc == -ENOMEM) {
		conn_refuse(c, 503, "out of memory");
		return false;
	}
	if (rc < 0) {
		conn_refuse(c, c->msg.refuse, c->msg.why);
		return false;
	}
	if (rc == MESSAGE_END) {
		r->body_done = true;
	} else if (r->ended) {
		r->dropped += piece.n;
		if (r->dropped > DRAIN_MAX)
			r->keep = false;
	} else if (ops && ops->on_body) {
		ops->on_body(&r->pub, piece);
	}
	return true;
}

/* Makes one callback, or does one step. False: wait for the peer or for the handler. */
static bool conn_step(struct http_conn *c)
{
	struct request *r = c->rq;

	if (c->lost && !c->leaving) {
		conn_lost(c);
		return false;
	}
	if (c->leaving)
		return false;
	if (!r) {
		c->drained = false;
		return step_head(c);
	}
	if (r->hijacked) {
		request_over(c, false);
		conn_end(c);
		return false;
	}
	if (r->ended && (r->body_done || !r->keep)) {
		bool keep = r->keep;

		request_over(c, false);
		if (!keep && !c->gone && !c->lost)
			conn_finish(c);
		return true;
	}
	if (c->drained) {
		c->drained = false;
		if (r->started && !r->ended && r->pub.ops && r->pub.ops->on_drain)
			r->pub.ops->on_drain(&r->pub);
		return true;
	}
	if (c->moved) {
		size_t n = c->moved;

		c->moved = 0;
		if (!r->ended)
			r->pub.ops->on_body_moved(&r->pub, n);
		return true;
	}
	if (!r->body_done)
		return step_body(c);
	if (!r->end_told) {
		r->end_told = true;
		if (!r->ended && r->pub.ops && r->pub.ops->on_body_end)
			r->pub.ops->on_body_end(&r->pub);
		return true;
	}
	return false;
}

/* Keeps unused bytes for later, and reads on only if more can be used. */
static void conn_rest(struct http_conn *c, bool borrowed)
{
	const struct request *r = c->rq;

	if (borrowed)
		buf_str(&c->in, c->cur);
	else
		buf_consume(&c->in, c->in.n - c->cur.n);
	c->cur = STR_NULL;
	if (c->in.n == 0 && c->in.cap > IN_KEEP)
		buf_done(&c->in);
	if (c->in.bad) {
		stream_reset(take_ptr(&c->s));
		conn_lost(c);
		return;
	}
	if (!r && c->in.n && !c->in_head) {
		c->since_ms = loop_now_ms(c->loop);
		if (c->server && c->is_idle)
			server_idle(c->server, c, true); /* moves it to the end of the eviction order */
	}
	c->in_head = !r && c->in.n;
	if (c->leaving) {
		stream_read(c->s, false);
		return;
	}
	bool paused = r && !r->body_done && !r->want && !r->ended;
	stream_read(c->s, !paused && c->in.n < IN_MAX);
}

static void conn_run(struct http_conn *c, struct str data)
{
	bool borrowed = c->in.n == 0;

	if (!borrowed)
		buf_str(&c->in, data);
	c->cur = borrowed ? data : buf_view(&c->in);
	c->turn = TURN;
	c->running = true;
	while (!c->gone && conn_step(c))
		;
	c->running = false;
	if (!c->gone && c->s)
		conn_rest(c, borrowed);
	if (!c->gone && (!c->s || (c->turn == 0 && c->in.n)))
		conn_kick(c);
}

static void conn_go_on(struct http_conn *c, struct str data)
{
	if (c->h2)
		c->h2_ops->run(c->h2, data);
	else
		conn_run(c, data);
}

static void on_kicked(void *p)
{
	struct http_conn *c = p;

	c->kicked = false;
	if (!c->gone && !c->leaving)
		conn_go_on(c, STR_NULL);
}

void conn_kick(struct http_conn *c)
{
	if (c->running || c->kicked || c->gone)
		return;
	c->kicked = true;
	loop_defer(c->loop, on_kicked, c);
}

void conn_drop(struct http_conn *c)
{
	c->server = NULL;
	c->lost = true;
	stream_reset(take_ptr(&c->s));
	if (c->running)
		return;
	c->running = true;
	conn_lost(c);
}

/* True if the peer has read nothing of the queued answer for too long. */
static bool is_stuck(struct http_conn *c, uint64_t now_ms)
{
	size_t unsent = stream_queued(c->s);

	if (unsent != c->unsent) {
		c->unsent = unsent;
		c->unsent_ms = now_ms;
	}
	return unsent > 0 && now_ms - c->unsent_ms > UNSENT_MS;
}

void conn_expire(struct http_conn *c, uint64_t now_ms, uint64_t idle_max_ms, uint64_t head_max_ms)
{
	uint64_t age_ms = now_ms - c->since_ms;

	if (c->n_streams && c->s && !c->gone)
		c->h2_ops->sweep(c->h2, now_ms);
	if (c->rq || c->n_streams || c->gone || !c->s || c->leaving)
		return;
	bool is_late = (c->is_shaking && age_ms > SHAKE_MS) || (c->h2 && c->in_head && age_ms > head_max_ms);

	if (is_stuck(c, now_ms) || is_late) {
		stream_reset(take_ptr(&c->s));
		conn_end(c);
	} else if (c->h2) {
		if (age_ms > idle_max_ms)
			c->h2_ops->stop(c->h2);
	} else if (c->in_head && age_ms > head_max_ms) {
		conn_refuse(c, 408, "request head took too long");
	} else if (!c->in_head && age_ms > idle_max_ms) {
		conn_finish(c);
	}
}

bool conn_evictable(const struct http_conn *c)
{
	char z;

	if (c->rq || c->n_streams || c->gone || !c->s || c->leaving || c->running || c->kicked ||
	    stream_queued(c->s) > 0)
		return false;
	return c->in_head || recv(stream_fd(c->s), &z, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

void conn_evict(struct http_conn *c)
{
	if (c->in_head && !c->h2)
		conn_refuse(c, 503, "too many connections");
	else
		conn_end(c); /* nothing to send, nothing unread: a normal close */
}

/* --- to another server --- */

/* The request was not answered, and the other server parses it again. */
static void leave_now(void *p)
{
	struct http_conn *c = p;
	struct request *r = c->rq;
	struct http_handed h = { .filter = c->filter,
		.secure = c->secure,
		.bytes = BUF_INIT(IN_CEILING),
		.moves = c->moves + 1 };

	if (c->gone)
		return;
	c->leaving = false;
	if (c->s)
		stream_push(c->s);
	if (c->lost || !c->server || !c->s || !stream_may_move(c->s)) {
		conn_lost(c);
		return;
	}
	if (r)
		buf_put(&h.bytes, r->head, r->head_n);
	buf_str(&h.bytes, buf_view(&c->in));
	if (h.bytes.bad) {
		buf_done(&h.bytes);
		conn_lost(c);
		return;
	}
	h.s = take_ptr(&c->s);
	stream_leave(h.s);
	c->server->on_handed(c->server->handed_user, &h, c->hand_to);
	if (r)
		request_over(c, false);
	conn_end(c);
}

static void leave(struct http_conn *c, void *to)
{
	c->leaving = true;
	c->hand_to = to;
	stream_read(c->s, false);
	loop_defer(c->loop, leave_now, c);
}

bool http_may_leave(const struct http_req *rq)
{
	const struct http_conn *c = rq->conn;

	return !c->h2 && c->server && c->server->on_handed;
}

bool http_hand_over(struct http_req *rq, void *to)
{
	struct http_conn *c = rq->conn;

	if (!http_may_leave(rq) || c->moves >= c->server->max_moves || !c->s || !stream_may_move(c->s))
		return false;
	leave(c, to);
	return true;
}

static bool speaks_h2(const struct http_server *s)
{
	return s->h2 || s->hands_h2;
}

/* True: it leaves, or is served. */
static bool conn_h2(struct http_conn *c)
{
	if (c->server->hands_h2) {
		c->is_known = true;
		leave(c, NULL);
		return true;
	}
	c->is_known = true;
	c->h2_ops = c->server->h2;
	c->h2 = c->h2_ops->open(c);
	return c->h2;
}

/* Clients with prior knowledge start HTTP/2 with a preface that is not a valid request of HTTP/1.x. */
static void sniff(struct http_conn *c, struct str data)
{
	static const struct str preface = { "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24 };

	buf_str(&c->in, data);
	size_t n = c->in.n < preface.n ? c->in.n : preface.n;
	if (memcmp(c->in.p, preface.p, n) != 0) {
		c->is_known = true;
		conn_run(c, STR_NULL);
	} else if (n == preface.n) {
		struct buf first = c->in;

		c->in_head = false;
		if (c->server->hands_h2) {
			(void)conn_h2(c);
			return;
		}
		c->in = BUF_INIT(IN_CEILING);
		if (conn_h2(c))
			c->h2_ops->run(c->h2, buf_view(&first));
		else
			conn_lost(c);
		buf_done(&first);
	} else if (!c->in_head) {
		c->in_head = true;
		c->since_ms = loop_now_ms(c->loop);
		server_idle(c->server, c, true);
	}
}

/* On a listener for both, the peer has started with a TLS handshake. */
static void turn_secure(struct http_conn *c, struct str first)
{
	struct http_secure *secure = take_ptr(&c->offered);

	c->filter = secure->open(secure, first);
	if (c->filter)
		stream_filter(c->s, c->filter);
	if (!c->filter || !server_shaking(c->server, c, secure)) {
		conn_lost(c);
		return;
	}
	c->since_ms = loop_now_ms(c->loop);
	stream_write(c->s, STR_LIT("")); /* lets the filter answer what it has received */
}

static void on_data(void *user, struct str data)
{
	struct http_conn *c = user;

	if (c->leaving) {
		buf_str(&c->in, data);
		return;
	}
	if (!c->is_known && c->offered && c->server && c->in.n == 0 && data.p[0] == TLS_HANDSHAKE) {
		turn_secure(c, data);
		return;
	}
	/* A first byte other than 'P' excludes the preface at once, without a copy. */
	if (!c->is_known && c->server && speaks_h2(c->server) && (c->in.n || data.p[0] == 'P')) {
		sniff(c, data);
		return;
	}
	c->is_known = true;
	conn_go_on(c, data);
}

/* A peer that closes its sending side counts as gone: that is how clients cancel. HTTP clients that half-close and
 * wait for an answer are not known. */
static void on_eof(void *user)
{
	struct http_conn *c = user;

	if (c->leaving) {
		c->lost = true;
		return;
	}
	if (!c->rq && !c->n_streams) {
		conn_finish(c);
		return;
	}
	c->lost = true;
	conn_go_on(c, STR_NULL);
}

static void on_drain(void *user)
{
	struct http_conn *c = user;

	if (c->leaving)
		return;
	c->drained = true;
	conn_go_on(c, STR_NULL);
}

static void on_moved(void *user, size_t n)
{
	struct http_conn *c = user;

	message_skip(&c->msg, n);
	c->moved += n;
	conn_run(c, STR_NULL);
}

static void on_error(void *user, int no)
{
	struct http_conn *c = user;

	(void)no;
	c->lost = true;
	if (c->leaving)
		return;
	conn_go_on(c, STR_NULL);
}

static void on_ready(void *user)
{
	struct http_conn *c = user;

	c->since_ms = loop_now_ms(c->loop);
	c->is_known = true;
	if (!c->server)
		return;
	server_shaken(c->server, c);
	if (speaks_h2(c->server) && c->secure->is_h2(c->filter) && !conn_h2(c))
		conn_lost(c);
}

static const struct stream_ops conn_ops = {
	.on_data = on_data,
	.on_eof = on_eof,
	.on_drain = on_drain,
	.on_error = on_error,
	.on_ready = on_ready,
	.on_moved = on_moved,
};

/* If no certificate is loaded, a connection of a TLS listener is closed rather than served in plain text. */
static bool conn_secure(struct http_conn *c, struct http_secure *secure)
{
	c->filter = secure->open(secure, STR_NULL);
	if (!c->filter)
		return false;
	stream_filter(c->s, c->filter);
	c->secure = secure;
	c->is_shaking = true;
	return true;
}

struct http_conn *conn_new(struct http_server *s, int fd, struct http_secure *secure)
{
	struct http_conn *c = calloc(1, sizeof *c);

	if (!c) {
		fd_close(fd);
		return NULL;
	}
	c->s = stream_new(s->loop, fd, &conn_ops, c);
	if (!c->s) {
		free(c);
		return NULL;
	}
	c->server = s;
	c->loop = s->loop;
	c->in = BUF_INIT(IN_CEILING);
	c->since_ms = loop_now_ms(s->loop);
	if (secure && !conn_secure(c, secure)) {
		stream_close(c->s);
		free(c);
		return NULL;
	}
	stream_read(c->s, true);
	return c;
}

struct http_conn *conn_take(struct http_server *s, struct http_handed *h)
{
	struct http_conn *c = calloc(1, sizeof *c);

	if (!c || stream_enter(h->s, s->loop) < 0) {
		free(c);
		return NULL;
	}
	c->s = take_ptr(&h->s);
	stream_rebind(c->s, &conn_ops, c);
	c->server = s;
	c->loop = s->loop;
	c->in = BUF_INIT(IN_CEILING);
	c->since_ms = loop_now_ms(s->loop);
	c->secure = h->secure;
	c->filter = h->filter;
	c->moves = h->moves;
	return c;
}

void conn_resume(struct http_conn *c, struct str bytes)
{
	bool is_h2 = c->secure && c->server->h2 && c->secure->is_h2(c->filter);

	stream_read(c->s, true);
	if (is_h2 && !conn_h2(c))
		conn_lost(c);
	else if (bytes.n > 0 || is_h2)
		on_data(c, bytes);
}
