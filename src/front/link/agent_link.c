/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/agent_link: connections by fd passing, events as packets. */
#include "front/link/agent_link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"
#include "front/link/links.h"
#include "front/link/upstream.h"
#include "front/util/mem.h"
#include "http/server.h"
#include "ipc/agent.h"
#include "loop/loop.h"

#define ROUND_MAX 64
#define CONNS_MAX 512 /* simultaneous connections from atoll-agent to the front */

struct agent_link {
	struct links *links;
	const struct agent_link_ops *ops;
	void *user;
	int fd; /* -1: it does not run */
	struct watch *watch;
	/* Serves connections from atoll-agent. It has its own limit, so that clients cannot use it up. */
	struct http_server *server;
	struct upstream_idle idle;
};

struct agent_link *agent_link_new(struct links *links, const struct agent_link_ops *ops, void *user)
{
	struct agent_link *l = must_alloc(sizeof *l);

	l->links = links;
	l->ops = ops;
	l->user = user;
	l->fd = -1;
	return l;
}

static void hang_up(struct agent_link *l)
{
	watch_free(take_ptr(&l->watch));
	fd_close(take_fd(&l->fd));
	upstream_close_all(&l->idle);
	http_server_free(take_ptr(&l->server)); /* also ends the requests that it was making for clients */
}

void agent_link_free(struct agent_link *l)
{
	if (!l)
		return;
	hang_up(l);
	free(l);
}

/* A malformed event is dropped. Closing the link instead would disable the agent layer for all clients. */
static void take_event(struct agent_link *l, struct str text)
{
	struct err e = ERR_INIT;

	if (l->ops->on_event(l->user, text, &e) < 0)
		log_warn("could not record an event of atoll-agent", "err=%s", e.text);
	else
		log_info("agent event", "%.*s", STR_ARG(text));
}

static int take(struct agent_link *l, const char *msg, size_t n, int *fd)
{
	struct fa_head h;

	if (n < sizeof h)
		return -EBADMSG;
	memcpy(&h, msg, sizeof h);
	if (h.version != FA_VERSION || h.n != n - sizeof h || (h.type == FA_CONN) != (*fd >= 0))
		return -EBADMSG;
	if (h.type == FA_EVENT) {
		take_event(l, (struct str) { msg + sizeof h, h.n });
		return 0;
	}
	if (h.type != FA_CONN || h.n)
		return -EBADMSG;
	int r = fd_nonblock(*fd, true);

	if (r == 0)
		r = http_server_adopt(l->server, take_fd(fd));
	if (r < 0)
		log_warn("could not accept a connection from atoll-agent", "err=%s", strerror(-r));
	return 0;
}

static void on_ready(void *user, int events)
{
	static char msg[sizeof(struct fa_head) + FA_EVENT_MAX];
	struct agent_link *l = user;

	(void)events;
	for (int i = 0; i < ROUND_MAX && l->fd >= 0; i++) {
		autoclose int fd = -1;
		size_t n_fds = 0;
		ssize_t n = fd_recv(l->fd, msg, sizeof msg, &fd, 1, &n_fds);

		if (n == -EAGAIN || n == -EINTR)
			return;
		int r = n > 0 ? take(l, msg, (size_t)n, &fd) : n == 0 ? -EPIPE : (int)n;

		if (r < 0) {
			log_at(n == 0 ? LOG_LVL_INFO : LOG_LVL_WARN,
			    "the link to atoll-agent has ended, waiting for the next", "err=%s", strerror(-r));
			hang_up(l);
		}
	}
}

void agent_link_set(struct agent_link *l, int fd)
{
	hang_up(l);
	l->fd = fd;
	l->server = http_server_new(l->links->loop, -1, l->ops->serve, l->user);
	l->watch = fd_nonblock(fd, true) < 0 ? NULL : watch_new(l->links->loop, fd, WATCH_IN, on_ready, l);
	if (!l->watch || !l->server) {
		log_error("cannot connect to atoll-agent", "err=out of memory");
		hang_up(l);
		return;
	}
	http_server_limit(l->server, CONNS_MAX);
}

void agent_link_tick(struct agent_link *l)
{
	upstream_expire(&l->idle, loop_now_ms(l->links->loop));
}

int agent_link_connect(struct agent_link *l, bool fresh, bool *ret_reused)
{
	struct fa_head h = { FA_VERSION, FA_CONN, 0 };
	int fd = fresh ? -1 : upstream_take_fd(&l->idle);
	int pair[2];

	*ret_reused = fd >= 0;
	if (fd >= 0)
		return fd;
	if (l->fd < 0)
		return -ENOTCONN;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return -errno;
	ssize_t r = fd_send(l->fd, &h, sizeof h, &pair[1], 1);

	fd_close(pair[1]);
	if (r == (ssize_t)sizeof h)
		return pair[0];
	fd_close(pair[0]);
	return r == -EAGAIN ? -EAGAIN : -ENOTCONN;
}

void agent_link_put(struct agent_link *l, struct stream *s)
{
	upstream_put(&l->idle, s, loop_now_ms(l->links->loop));
}
