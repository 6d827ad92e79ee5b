/* SPDX-License-Identifier: Apache-2.0 */
/* agent/link: the warden passes the socket to the front. Connections are passed both ways over it, events one way. If
 * that socket closes or carries a malformed message, it is dropped and the warden is asked for the next one. */
#include "agent/link.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "ipc/agent.h"
#include "loop/loop.h"

#define ROUND_MAX 64
#define IDLE_MAX 64
#define SEND_MS 2000 /* enough, because the front reads continuously */

static struct {
	struct loop *loop;
	const struct link_ops *ops;
	void *user;
	int warden;
	struct watch *warden_watch;
	pthread_mutex_t lock; /* protects front, which other threads send on */
	int front;            /* -1: none */
	struct watch *front_watch;
	int idle[IDLE_MAX]; /* connections to that front; most recently used last */
	size_t n_idle;
	uint32_t lost; /* number of sockets to a front lost so far */
} the = { .warden = -1, .front = -1, .lock = PTHREAD_MUTEX_INITIALIZER };

static void set_front(int fd)
{
	watch_free(take_ptr(&the.front_watch));
	(void)pthread_mutex_lock(&the.lock);
	fd_close(the.front);
	the.front = fd;
	while (the.n_idle > 0)
		fd_close(the.idle[--the.n_idle]);
	(void)pthread_mutex_unlock(&the.lock);
}

static void on_front(void *user, int events)
{
	(void)user, (void)events;
	for (int i = 0; i < ROUND_MAX; i++) {
		autoclose int fd = -1;
		struct fa_head h;
		size_t n_fds = 0;
		ssize_t n = fd_recv(the.front, &h, sizeof h, &fd, 1, &n_fds);

		if (n == -EAGAIN || n == -EINTR)
			return;
		if (n != (ssize_t)sizeof h || h.version != FA_VERSION || h.type != FA_CONN || h.n || fd < 0) {
			log_info("lost the front, waiting for the next one", "err=%s",
			    n < 0   ? strerror((int)-n)
				: n ? "bad message"
				    : "closed");
			set_front(-1);
			(void)fd_send(the.warden, &(struct ag_msg) { AG_VERSION, AG_LOST, ++the.lost },
			    sizeof(struct ag_msg), NULL, 0);
			return;
		}
		if (fd_nonblock(fd, true) == 0)
			the.ops->on_conn(the.user, take_fd(&fd));
	}
}

static void on_warden(void *user, int events)
{
	(void)user, (void)events;
	for (;;) {
		autoclose int fd = -1;
		struct ag_msg m;
		size_t n_fds = 0;
		ssize_t n = fd_recv(the.warden, &m, sizeof m, &fd, 1, &n_fds);

		if (n == -EAGAIN || n == -EINTR)
			return;
		if (n != (ssize_t)sizeof m || m.version != AG_VERSION || m.type != AG_FRONT || fd < 0) {
			the.ops->on_warden_gone(the.user);
			return;
		}
		if (fd_nonblock(fd, true) < 0)
			continue;
		set_front(take_fd(&fd));
		the.front_watch = watch_new(the.loop, the.front, WATCH_IN, on_front, NULL);
		if (!the.front_watch)
			set_front(-1);
	}
}

int link_open(struct loop *l, int warden_fd, const struct link_ops *ops, void *user, struct err *e)
{
	the.loop = l;
	the.ops = ops;
	the.user = user;
	the.warden = warden_fd;
	the.warden_watch = watch_new(l, warden_fd, WATCH_IN, on_warden, NULL);
	return the.warden_watch ? 0 : err_set(e, ENOMEM, "watch the warden");
}

/* The lock is held while sending, because the descriptor could be closed and reused otherwise. */
static int send_locked(const void *p, size_t n, const int *fd)
{
	struct pollfd pf = { .fd = the.front, .events = POLLOUT };
	ssize_t r = -ENOTCONN;

	for (int i = 0; i < 2 && the.front >= 0; i++) {
		r = fd_send(the.front, p, n, fd, fd ? 1 : 0);
		if (r != -EAGAIN || poll(&pf, 1, SEND_MS) != 1)
			break;
	}
	return r == (ssize_t)n ? 0 : -ENOTCONN;
}

static int send_front(const void *p, size_t n, const int *fd)
{
	(void)pthread_mutex_lock(&the.lock);
	int r = send_locked(p, n, fd);

	(void)pthread_mutex_unlock(&the.lock);
	return r;
}

/* A connection that is readable was closed by the front; skip it. */
static int take_idle(void)
{
	int fd = -1;
	char c;

	(void)pthread_mutex_lock(&the.lock);
	while (fd < 0 && the.n_idle > 0) {
		fd = the.idle[--the.n_idle];
		if (recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN) {
			fd_close(fd);
			fd = -1;
		}
	}
	(void)pthread_mutex_unlock(&the.lock);
	return fd;
}

void link_give_back(int fd, bool clean)
{
	(void)pthread_mutex_lock(&the.lock);
	if (clean && the.front >= 0 && the.n_idle < IDLE_MAX) {
		the.idle[the.n_idle++] = fd;
		fd = -1;
	}
	(void)pthread_mutex_unlock(&the.lock);
	fd_close(fd);
}

int link_connect(void)
{
	struct fa_head h = { FA_VERSION, FA_CONN, 0 };
	int fd = take_idle(), pair[2];

	if (fd >= 0)
		return fd;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	int r = send_front(&h, sizeof h, &pair[1]);

	fd_close(pair[1]);
	if (r < 0) {
		fd_close(pair[0]);
		return r;
	}
	return pair[0];
}

int link_event(struct str json)
{
	char msg[sizeof(struct fa_head) + FA_EVENT_MAX];
	struct fa_head h = { FA_VERSION, FA_EVENT, (uint32_t)json.n };

	if (json.n > FA_EVENT_MAX)
		return -EMSGSIZE;
	memcpy(msg, &h, sizeof h);
	memcpy(msg + sizeof h, json.p, json.n);
	return send_front(msg, sizeof h + json.n, NULL);
}
