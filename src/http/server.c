/* SPDX-License-Identifier: Apache-2.0 */
/* http/server: listeners and their connections. */
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
#include "loop/stream.h"

#define CONNS_MAX 4096  /* default of http_server_limit() */
#define ACCEPT_BATCH 32 /* connections accepted per loop iteration, so that others get their turn */
/* Delay after running out of fds or memory, or of connections that can be closed. */
#define ACCEPT_RETRY_MS 100
#define SWEEP_MS 5000            /* longest interval between searches for expired connections; */
#define SWEEP_PER_LIMIT 4        /* ... short enough for the shortest limit */
#define IDLE_MAX_MS (15 * 60000) /* between requests; clients rely on at least ten minutes */
#define HEAD_MAX_MS 30000        /* default of http_server_head_timeout() */
#define FRESH_MS 1000            /* a new connection is not evicted for this long */
#define SHAKE_MAX 512            /* concurrent handshakes; each takes some ten kB */
/* Idle TLS connections: each takes some ten kB, twice as much with HTTP/2. */
#define SECURE_IDLE_MAX 2048
#define EVICT_TRIES 32          /* idle connections checked for one that can be closed */
#define UNSENT_MAX (512 * 1024) /* bytes in a connection's kernel buffer that are not sent yet */
#define ANSWER_HEAD_MAX (64 * 1024)

struct listener {
	struct http_server *server;
	struct listener *next;
	struct http_secure *secure; /* NULL: plain HTTP */
	bool plain_too;             /* only connections that start with a handshake use TLS */
	int fd;
	struct watch *watch;
};

/* Whether another handshake may start, if necessary in place of the oldest, if that one has had its minimum time. */
static bool may_shake(const struct http_server *s)
{
	const struct http_conn *oldest = TAILQ_FIRST(&s->shaking);

	return s->n_shaking < s->max_shaking || loop_now_ms(s->loop) - oldest->since_ms >= FRESH_MS;
}

static bool all_shake(const struct listener *d)
{
	return d->secure && !d->plain_too;
}

/* Stops listening while there is no room and none can be made: otherwise a readable listener would keep waking the
 * loop. */
static void update_watch(struct http_server *s)
{
	bool off = s->stopped || s->paused || s->all_busy;

	for (struct listener *d = s->doors; d; d = d->next) {
		bool wait = all_shake(d) && !may_shake(s);

		watch_set(d->watch, off || wait ? 0 : WATCH_IN);
		if (wait)
			timer_arm(s->retry, ACCEPT_RETRY_MS);
	}
}

static struct peers *peers_of(struct http_server *s, bool secure)
{
	return &s->peers[secure];
}

void server_idle(struct http_server *s, struct http_conn *c, bool on)
{
	if (c->is_fresh)
		TAILQ_REMOVE(&s->fresh, c, idle);
	c->is_fresh = false;
	peers_idle(peers_of(s, c->secure), c, on);
	if (on && s->all_busy) {
		s->all_busy = false;
		update_watch(s);
	}
}

void server_shaken(struct http_server *s, struct http_conn *c)
{
	if (!c->is_shaking)
		return;
	c->is_shaking = false;
	TAILQ_REMOVE(&s->shaking, c, shaking);
	if (s->n_shaking-- == s->max_shaking)
		update_watch(s);
}

void server_forget(struct http_server *s, struct http_conn *c)
{
	server_shaken(s, c);
	server_idle(s, c, false);
	peers_leave(peers_of(s, c->secure), take_ptr(&c->peer));
	if (c->prev)
		c->prev->next = c->next;
	else
		s->conns = c->next;
	if (c->next)
		c->next->prev = c->prev;
	c->prev = c->next = NULL;
	s->n_conns--;
	s->all_busy = false;
	update_watch(s);
}

static bool is_loopback(const struct sockaddr_storage *from)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;

	if (from->ss_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return from->ss_family == AF_INET6 &&
	    (IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) ||
		(IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr) && v6->sin6_addr.s6_addr[12] == IN_LOOPBACKNET));
}

/* Options that fail on unix sockets are not needed there. */
static void tune(int fd, const struct sockaddr_storage *from)
{
	const int on = 1, unsent = UNSENT_MAX;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
	/* Data in the kernel's buffer is sent when the client's reads make room: it is better sent when we write.
	 * It also takes memory, and delays more urgent data. Data in flight is not counted. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
	/* Between two ends on one machine there is no path to measure. If the host's default algorithm measures
	 * anyway (BBR paces packets by timers), throughput would be halved at twice the CPU time. */
	if (is_loopback(from))
		(void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
}

/* Counts a new connection. */
static void add_conn(struct http_server *s, struct http_conn *c, struct peer *p)
{
	c->peer = p;
	c->next = s->conns;
	if (c->next)
		c->next->prev = c;
	s->conns = c;
	s->n_conns++;
	TAILQ_INSERT_TAIL(&s->fresh, c, idle);
	c->is_fresh = true;
}

/* d: NULL for a connection without a listener. */
static int adopt(struct http_server *s, int fd, const struct sockaddr_storage *from, const struct listener *d)
{
	struct http_secure *secure = d && all_shake(d) ? d->secure : NULL;
	bool no = false;

	if (s->ops->on_conn)
		s->ops->on_conn(s->user, fd, &no);
	if (no) {
		fd_close(fd);
		return -EACCES;
	}
	tune(fd, from);

	struct peer *p = peers_join(peers_of(s, secure), from);
	struct http_conn *c = p ? conn_new(s, fd, secure) : NULL;

	if (!c) {
		if (p)
			peers_leave(peers_of(s, secure), p);
		else
			fd_close(fd);
		return -ENOMEM;
	}
	add_conn(s, c, p);
	c->offered = d && d->plain_too ? d->secure : NULL;
	if (c->is_shaking) {
		TAILQ_INSERT_TAIL(&s->shaking, c, shaking);
		s->n_shaking++;
	}
	return 0;
}

int http_server_adopt(struct http_server *s, int fd)
{
	struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
	socklen_t n = sizeof from;

	(void)getpeername(fd, (struct sockaddr *)&from, &n);
	return adopt(s, fd, &from, NULL);
}

static void on_retry(void *user)
{
	struct http_server *s = user;

	s->paused = s->all_busy = false;
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

/* A connection without a request counts as idle after a while; not at once, because the first request may be on
 * its way. */
static void age_fresh(struct http_server *s)
{
	uint64_t now_ms = loop_now_ms(s->loop);
	struct http_conn *c;

	while ((c = TAILQ_FIRST(&s->fresh)) && now_ms - c->since_ms >= FRESH_MS)
		server_idle(s, c, true);
}

static struct http_conn *find_among(struct peers *ps)
{
	struct http_conn *c;

	for (size_t i = 0; i < EVICT_TRIES && (c = peers_victim(ps)); i++) {
		if (conn_evictable(c))
			return c;
		peers_idle(ps, c, true); /* it is about to become busy: try others first */
	}
	return NULL;
}

/* The connection to close for the next one; NULL: none at the moment. */
static struct http_conn *find_victim(struct http_server *s)
{
	age_fresh(s);
	bool first = s->peers[1].n_idle > s->peers[0].n_idle;
	struct http_conn *c = find_among(&s->peers[first]);

	return c ? c : find_among(&s->peers[!first]);
}

/* Limits the memory of idle TLS connections, independent of the connection limit. */
static void limit_idle_secure(struct http_server *s)
{
	struct http_conn *c;

	age_fresh(s);
	while (s->peers[1].n_idle > s->max_idle_secure && (c = find_among(&s->peers[1]))) {
		s->evicted++;
		conn_evict(c);
	}
}

/* Idle connections are closed for new ones, however recent they are: a client whose connection was closed opens
 * another, but one that gets no connection can do nothing. */
static void make_room(struct http_server *s, struct http_conn *victim)
{
	if (!s->crowded)
		log_warn("connection limit reached, closing idle connections", "conns=%zu", s->n_conns);
	s->crowded = true;
	s->evicted++;
	conn_evict(victim);
}

/* Called only after accept() has succeeded, so that no handshake is closed for nothing. */
static void make_shake_room(struct http_server *s)
{
	if (s->n_shaking >= s->max_shaking)
		conn_evict(TAILQ_FIRST(&s->shaking));
}

bool server_shaking(struct http_server *s, struct http_conn *c, struct http_secure *secure)
{
	struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
	socklen_t n = sizeof from;

	(void)getpeername(stream_fd(c->s), (struct sockaddr *)&from, &n);
	struct peer *p = peers_join(peers_of(s, true), &from);
	if (!p)
		return false;
	make_shake_room(s);
	limit_idle_secure(s);
	server_idle(s, c, false);
	peers_leave(peers_of(s, false), c->peer);
	c->peer = p;
	c->secure = secure;
	c->is_shaking = true;
	TAILQ_INSERT_TAIL(&s->shaking, c, shaking);
	s->n_shaking++;
	server_idle(s, c, true);
	update_watch(s);
	return true;
}

static void on_acceptable(void *user, int events)
{
	struct listener *d = user;
	struct http_server *s = d->server;

	(void)events;
	for (size_t i = 0; i < ACCEPT_BATCH; i++) {
		struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
		socklen_t n = sizeof from;
		bool full = s->n_conns >= s->max_conns;
		struct http_conn *victim = full ? find_victim(s) : NULL;

		if (full && !victim) {
			s->all_busy = true; /* until a connection becomes idle, or is no longer new */
			timer_arm(s->retry, ACCEPT_RETRY_MS);
			break;
		}
		if (all_shake(d) && !may_shake(s))
			break;
		int fd = accept4(d->fd, (struct sockaddr *)&from, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0) {
			accept_failed(s, errno);
			break;
		}
		if (victim)
			make_room(s, victim); /* only after accept() has succeeded */
		if (all_shake(d)) {
			make_shake_room(s);
			limit_idle_secure(s);
		}
		(void)adopt(s, fd, &from, d);
	}
	update_watch(s);
}

static void arm_sweep(struct http_server *s)
{
	uint64_t ms = s->head_max_ms / SWEEP_PER_LIMIT;

	timer_arm(s->sweep, ms < SWEEP_MS ? ms : SWEEP_MS);
}

static void on_sweep(void *user)
{
	struct http_server *s = user;
	uint64_t now_ms = loop_now_ms(s->loop);

	for (struct http_conn *c = s->conns, *next; c; c = next) {
		next = c->next;
		conn_expire(c, now_ms, IDLE_MAX_MS, s->head_max_ms);
	}
	if (s->n_conns < s->max_conns - s->max_conns / 8)
		s->crowded = false;
	arm_sweep(s);
}

static void server_gone(void *p)
{
	struct http_server *s = p;

	buf_done(&s->out);
	free(s);
}

static int listen_on(struct http_server *s, int fd, struct http_secure *secure, bool plain_too)
{
	struct listener *d = calloc(1, sizeof *d);

	if (d)
		d->watch = watch_new(s->loop, fd, WATCH_IN, on_acceptable, d);
	if (!d || !d->watch) {
		free(d);
		fd_close(fd);
		return -ENOMEM;
	}
	d->server = s;
	d->fd = fd;
	d->secure = secure;
	d->plain_too = plain_too;
	d->next = s->doors;
	s->doors = d;
	update_watch(s);
	return 0;
}

int http_server_listen(struct http_server *s, int fd, struct http_secure *secure)
{
	return listen_on(s, fd, secure, false);
}

int http_server_listen_both(struct http_server *s, int fd, struct http_secure *secure)
{
	return listen_on(s, fd, secure, true);
}

struct http_server *http_server_new(struct loop *l, int listen_fd, const struct http_server_ops *ops, void *user)
{
	struct http_server *s = calloc(1, sizeof *s);

	if (!s) {
		fd_close(listen_fd);
		return NULL;
	}
	*s = (struct http_server) { .loop = l,
		.ops = ops,
		.user = user,
		.max_conns = CONNS_MAX,
		.max_shaking = SHAKE_MAX,
		.max_idle_secure = SECURE_IDLE_MAX,
		.head_max_ms = HEAD_MAX_MS,
		.out = BUF_INIT(ANSWER_HEAD_MAX) };
	TAILQ_INIT(&s->fresh);
	TAILQ_INIT(&s->shaking);
	peers_init(&s->peers[0]);
	peers_init(&s->peers[1]);
	s->sweep = timer_new(l, on_sweep, s);
	s->retry = timer_new(l, on_retry, s);
	if (!s->sweep || !s->retry || (listen_fd >= 0 && http_server_listen(s, take_fd(&listen_fd), NULL) < 0)) {
		fd_close(listen_fd);
		http_server_free(s);
		return NULL;
	}
	arm_sweep(s);
	return s;
}

void http_server_hands(struct http_server *s, http_handed_fn *fn, void *user, unsigned max_moves, bool h2)
{
	s->on_handed = fn;
	s->handed_user = user;
	s->max_moves = max_moves;
	s->hands_h2 = h2;
}

void http_handed_drop(struct http_handed *h)
{
	if (h->s)
		stream_free(take_ptr(&h->s));
	buf_done(&h->bytes);
}

/* Above the limit it replaces an idle one, as in on_acceptable(); if none is idle it has come too late. */
int http_server_take(struct http_server *s, struct http_handed *h)
{
	struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
	socklen_t n = sizeof from;
	struct http_conn *victim = s->n_conns >= s->max_conns ? find_victim(s) : NULL;

	if (victim)
		make_room(s, victim);
	(void)getpeername(stream_fd(h->s), (struct sockaddr *)&from, &n);

	struct peer *p = s->n_conns < s->max_conns ? peers_join(peers_of(s, h->secure), &from) : NULL;
	struct http_conn *c = p ? conn_take(s, h) : NULL;

	if (!c) {
		if (p)
			peers_leave(peers_of(s, h->secure), p);
		http_handed_drop(h);
		return -ENOMEM;
	}
	if (h->secure)
		limit_idle_secure(s);
	add_conn(s, c, p);
	conn_resume(c, buf_view(&h->bytes));
	buf_done(&h->bytes);
	return 0;
}

void http_server_limit(struct http_server *s, size_t max_conns)
{
	s->max_conns = max_conns;
	update_watch(s);
}

void http_server_divide(struct http_server *s, size_t n)
{
	s->max_shaking = SHAKE_MAX / n ? SHAKE_MAX / n : 1;
	s->max_idle_secure = SECURE_IDLE_MAX / n;
}

void http_server_head_timeout(struct http_server *s, uint64_t ms)
{
	s->head_max_ms = ms;
	arm_sweep(s);
}

void http_server_stop_accepting(struct http_server *s)
{
	s->stopped = true;
	update_watch(s);
	for (struct http_conn *c = s->conns; c; c = c->next) {
		if (c->h2)
			c->h2_ops->stop(c->h2);
	}
}

size_t http_server_conns(const struct http_server *s)
{
	return s->n_conns;
}

uint64_t http_server_h2_requests(const struct http_server *s)
{
	return s->h2_requests;
}

uint64_t http_server_evicted(const struct http_server *s)
{
	return s->evicted;
}

static void close_doors(struct http_server *s)
{
	while (s->doors) {
		struct listener *d = s->doors;

		s->doors = d->next;
		watch_free(d->watch);
		fd_close(d->fd);
		free(d);
	}
}

void http_server_drop_others(struct http_server *s, const struct http_req *rq)
{
	struct http_conn *c = s->conns;

	while (c) {
		struct http_conn *next = c->next;

		if (c != rq->conn) {
			server_forget(s, c);
			conn_drop(c);
		}
		c = next;
	}
}

void http_server_free(struct http_server *s)
{
	if (!s)
		return;
	close_doors(s);
	timer_free(take_ptr(&s->sweep));
	timer_free(take_ptr(&s->retry));
	while (s->conns) {
		struct http_conn *c = s->conns;

		server_forget(s, c);
		conn_drop(c);
	}
	loop_defer(s->loop, server_gone, s);
}
