/* SPDX-License-Identifier: Apache-2.0 */
/* http/server: a listener and its connections. */
#include "http/server.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"
#include "http/conn.h"
#include "loop/loop.h"

#define CONNS_MAX 4096			/* unless http_server_limit() says otherwise */
#define ACCEPT_BATCH 32			/* connections taken per round, so that old ones get their turn */
#define ACCEPT_RETRY_MS 100		/* after the process has run out of fds or memory */
#define SWEEP_MS 5000			/* how often late connections are looked for, */
#define SWEEP_FULL_MS 500		/* when all places are taken */
#define IDLE_MAX_MS (15 * 60000)	/* between requests; clients rely on at least ten minutes, */
#define HEAD_MAX_MS 30000		/* from the first byte of a head to its last */
#define FULL_IDLE_MS 1000		/* when others have to wait for a place, */
#define FULL_HEAD_MS 5000
#define FULL_BATCH 64			/* so many of the oldest idle ones are closed at once */
#define ANSWER_HEAD_MAX (64 * 1024)

/* Listening stops while there is no room: a ready listener would else wake the loop for nothing, for ever. */
static void update_watch(struct http_server *s)
{
	if (s->watch)
		watch_set(s->watch, s->stopped || s->paused || s->n_conns >= s->max_conns ? 0 : WATCH_IN);
}

void server_idle(struct http_server *s, struct http_conn *c, bool on)
{
	if (c->is_idle)
		TAILQ_REMOVE(&s->idle, c, idle);
	if (on)
		TAILQ_INSERT_HEAD(&s->idle, c, idle);
	c->is_idle = on;
}

void server_forget(struct http_server *s, struct http_conn *c)
{
	server_idle(s, c, false);
	if (c->prev)
		c->prev->next = c->next;
	else
		s->conns = c->next;
	if (c->next)
		c->next->prev = c->prev;
	c->prev = c->next = NULL;
	s->n_conns--;
	update_watch(s);
}

int http_server_adopt(struct http_server *s, int fd)
{
	const int on = 1;
	bool no = false;

	if (s->ops->on_conn)
		s->ops->on_conn(s->user, fd, &no);
	if (no) {
		fd_close(fd);
		return -EACCES;
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);	/* fails on unix sockets, which need neither */
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
	struct http_conn *c = conn_new(s, fd);
	if (!c)
		return -ENOMEM;
	c->next = s->conns;
	if (c->next)
		c->next->prev = c;
	s->conns = c;
	s->n_conns++;
	server_idle(s, c, true);
	return 0;
}

static void on_retry(void *user)
{
	struct http_server *s = user;

	s->paused = false;
	update_watch(s);
}

static void accept_failed(struct http_server *s, int no)
{
	if (no == EAGAIN || no == EINTR || no == ECONNABORTED)
		return;
	log_warn("cannot accept connections, retrying", "errno=%d conns=%zu", no, s->n_conns);
	s->paused = true;
	timer_arm(s->retry, ACCEPT_RETRY_MS);
}

/* All places are taken: those who have been doing nothing for longest give theirs up. */
static void make_room(struct http_server *s)
{
	uint64_t now_ms = loop_now_ms(s->loop);
	size_t n = 0;

	for (struct http_conn *c = TAILQ_LAST(&s->idle, idle_list), *next; c && n < FULL_BATCH; c = next) {
		next = TAILQ_PREV(c, idle_list, idle);
		n += conn_expire(c, now_ms, FULL_IDLE_MS, FULL_HEAD_MS);
		if (!c->gone && !c->in_head)
			break;		/* the others are fresher */
	}
}

static void on_acceptable(void *user, int events)
{
	struct http_server *s = user;

	(void)events;
	if (s->n_conns + ACCEPT_BATCH > s->max_conns)
		make_room(s);
	for (size_t i = 0; i < ACCEPT_BATCH && s->n_conns < s->max_conns; i++) {
		int fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0) {
			accept_failed(s, errno);
			break;
		}
		(void)http_server_adopt(s, fd);
	}
	if (s->n_conns >= s->max_conns)
		timer_arm(s->sweep, SWEEP_FULL_MS);
	update_watch(s);
}

static void on_sweep(void *user)
{
	struct http_server *s = user;
	uint64_t now_ms = loop_now_ms(s->loop);

	for (struct http_conn *c = TAILQ_FIRST(&s->idle), *next; c; c = next) {
		next = TAILQ_NEXT(c, idle);
		(void)conn_expire(c, now_ms, IDLE_MAX_MS, HEAD_MAX_MS);
	}
	if (s->n_conns >= s->max_conns)
		make_room(s);
	timer_arm(s->sweep, s->n_conns >= s->max_conns ? SWEEP_FULL_MS : SWEEP_MS);
}

static void server_gone(void *p)
{
	struct http_server *s = p;

	buf_done(&s->out);
	free(s);
}

struct http_server *http_server_new(struct loop *l, int listen_fd, const struct http_server_ops *ops, void *user)
{
	struct http_server *s = calloc(1, sizeof *s);

	if (!s) {
		fd_close(listen_fd);
		return NULL;
	}
	*s = (struct http_server) { .loop = l, .ops = ops, .user = user, .fd = listen_fd, .max_conns = CONNS_MAX,
				    .out = BUF_INIT(ANSWER_HEAD_MAX) };
	TAILQ_INIT(&s->idle);
	s->sweep = timer_new(l, on_sweep, s);
	s->retry = timer_new(l, on_retry, s);
	if (listen_fd >= 0)
		s->watch = watch_new(l, listen_fd, WATCH_IN, on_acceptable, s);
	if (!s->sweep || !s->retry || (listen_fd >= 0 && !s->watch)) {
		http_server_free(s);
		return NULL;
	}
	timer_arm(s->sweep, SWEEP_MS);
	return s;
}

void http_server_limit(struct http_server *s, size_t max_conns)
{
	s->max_conns = max_conns;
	update_watch(s);
}

void http_server_stop_accepting(struct http_server *s)
{
	s->stopped = true;
	update_watch(s);
}

size_t http_server_conns(const struct http_server *s)
{
	return s->n_conns;
}

void http_server_free(struct http_server *s)
{
	if (!s)
		return;
	watch_free(take_ptr(&s->watch));
	timer_free(take_ptr(&s->sweep));
	timer_free(take_ptr(&s->retry));
	fd_close(take_fd(&s->fd));
	while (s->conns) {
		struct http_conn *c = s->conns;

		server_forget(s, c);
		conn_drop(c);
	}
	loop_defer(s->loop, server_gone, s);
}
