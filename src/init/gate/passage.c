/* SPDX-License-Identifier: Apache-2.0 */
/* passage: connects to the port, then relays. */
#include "init/gate/passage.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "loop/loop.h"
#include "loop/relay.h"
#include "loop/stream.h"

struct passage {
	struct passages *all;
	TAILQ_ENTRY(passage) link;
	uint16_t port;
	bool v6;
	int near, far;       /* until both are streams */
	struct watch *watch; /* of far, while it connects */
	struct timer *limit;
	struct relay relay;
	bool relays;
};

static void passage_free(struct passage *p)
{
	TAILQ_REMOVE(&p->all->all, p, link);
	p->all->n--;
	watch_free(p->watch);
	timer_free(p->limit);
	fd_close(p->near);
	fd_close(p->far);
	free(p);
}

/* The caller gets a reset, as from a port without a listener. */
static void refuse(struct passage *p)
{
	const struct linger none = { .l_onoff = 1 };

	(void)setsockopt(p->near, SOL_SOCKET, SO_LINGER, &none, sizeof none);
	passage_free(p);
}

static void on_over(void *user)
{
	passage_free(user);
}

static const struct relay_ops relay_ops = { .on_over = on_over };

static void undelay(int fd)
{
	const int on = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static void relay(struct passage *p)
{
	struct loop *l = p->all->loop;
	struct stream *near, *far;

	watch_free(take_ptr(&p->watch));
	timer_disarm(p->limit);
	undelay(p->near);
	undelay(p->far);
	near = stream_new(l, take_fd(&p->near), &stream_unowned, NULL);
	far = stream_new(l, take_fd(&p->far), &stream_unowned, NULL);
	if (!near || !far) {
		stream_close(near);
		stream_close(far);
		passage_free(p);
		return;
	}
	p->relays = true;
	relay_begin(&p->relay, near, STR_NULL, far, (struct str) { "", 1 }, &relay_ops, p);
}

/* 0: connecting, and on_connected() follows; or -errno. */
static int begin(struct passage *p);

static void next(struct passage *p)
{
	watch_free(take_ptr(&p->watch));
	fd_close(take_fd(&p->far));
	if (p->v6) {
		refuse(p);
		return;
	}
	p->v6 = true;
	if (begin(p) < 0)
		refuse(p);
}

static void on_connected(void *user, int events)
{
	struct passage *p = user;
	int no = 0;
	socklen_t n = sizeof no;

	(void)events;
	if (getsockopt(p->far, SOL_SOCKET, SO_ERROR, &no, &n) < 0 || no)
		next(p);
	else
		relay(p);
}

static int begin(struct passage *p)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
		.sin_port = htons(p->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
		.sin6_port = htons(p->port),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT };
	const struct sockaddr *to = p->v6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4;

	p->far = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p->far < 0 || (connect(p->far, to, p->v6 ? sizeof v6 : sizeof v4) < 0 && errno != EINPROGRESS))
		return -errno;
	p->watch = watch_new(p->all->loop, p->far, WATCH_OUT, on_connected, p);
	return p->watch ? 0 : -ENOMEM;
}

/* A listener whose queue stays full. */
static void on_limit(void *user)
{
	refuse(user);
}

void passages_init(struct passages *ps, struct loop *l)
{
	*ps = (struct passages) { .loop = l };
	TAILQ_INIT(&ps->all);
}

void passages_drop(struct passages *ps)
{
	struct passage *p;

	while ((p = TAILQ_FIRST(&ps->all))) {
		if (p->relays)
			relay_break(&p->relay);
		passage_free(p);
	}
}

void passage_new(struct passages *ps, int fd, uint16_t port)
{
	struct passage *p = ps->n < PASSAGES_MAX ? calloc(1, sizeof *p) : NULL;

	if (!p) {
		fd_close(fd);
		return;
	}
	*p = (struct passage) { .all = ps, .port = port, .near = fd, .far = -1 };
	TAILQ_INSERT_TAIL(&ps->all, p, link);
	ps->n++;
	p->limit = timer_new(ps->loop, on_limit, p);
	if (!p->limit) {
		passage_free(p);
		return;
	}
	timer_arm(p->limit, PASSAGE_CONNECT_MS);
	if (begin(p) < 0)
		next(p);
}
