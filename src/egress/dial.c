/* SPDX-License-Identifier: Apache-2.0 */
/* dial: tries one address after the other. */
#include "egress/dial.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "loop/loop.h"

struct dial {
	struct loop *loop;
	uint32_t addrs[DIAL_ADDRS_MAX];
	size_t n, at;
	uint16_t port;
	int fd, error;
	struct watch *watch;
	struct timer *timer;
	dial_fn *fn;
	void *user;
};

static struct inet_ranges allowed;

void dial_allow(const struct inet_ranges *r)
{
	allowed = *r;
}

static bool is_own(uint32_t ip)
{
	const struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(ip) };

	return inet_addr_is_own((const struct sockaddr *)&to);
}

bool dial_may(uint32_t ip)
{
	bool open = !inet_is_private(ip);

	for (size_t i = 0; !open && i < allowed.n; i++)
		open = inet_in(allowed.v[i], ip);
	return open && !is_own(ip);
}

static void dial_done(struct dial *d, int fd)
{
	dial_fn *fn = d->fn;
	void *user = d->user;

	dial_cancel(d);
	fn(user, fd);
}

static void hang_up(struct dial *d)
{
	watch_free(take_ptr(&d->watch));
	fd_close(take_fd(&d->fd));
}

static void try_next(struct dial *d);

static void on_writable(void *user, int events)
{
	struct dial *d = user;
	socklen_t n = sizeof d->error;

	(void)events;
	if (getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &d->error, &n) < 0)
		d->error = errno;
	if (d->error) {
		try_next(d);
		return;
	}
	watch_free(take_ptr(&d->watch));
	dial_done(d, take_fd(&d->fd));
}

static int dial_one(struct dial *d, uint32_t ip)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(d->port), .sin_addr.s_addr = htonl(ip) };
	int one = 1;

	d->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (d->fd < 0)
		return -errno;
	(void)setsockopt(d->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (connect(d->fd, (struct sockaddr *)&to, sizeof to) < 0 && errno != EINPROGRESS)
		return -errno;
	d->watch = watch_new(d->loop, d->fd, WATCH_OUT, on_writable, d);
	return d->watch ? 0 : -ENOMEM;
}

static void try_next(struct dial *d)
{
	while (d->at < d->n) {
		hang_up(d);
		int r = dial_one(d, d->addrs[d->at++]);

		if (r == 0) {
			timer_arm(d->timer, DIAL_TRY_MS);
			return;
		}
		d->error = -r;
	}
	dial_done(d, d->error ? -d->error : -ETIMEDOUT);
}

static void on_timer(void *user)
{
	struct dial *d = user;

	if (d->at > 0)
		d->error = ETIMEDOUT;
	try_next(d);
}

int egress_dial_new(struct loop *l, const uint32_t *addrs, size_t n, uint16_t port, dial_fn *fn, void *user,
    struct dial **ret)
{
	struct dial *d = calloc(1, sizeof *d);

	if (!d)
		return -ENOMEM;
	*d = (struct dial) { .loop = l, .port = port, .fn = fn, .user = user, .fd = -1 };
	for (size_t i = 0; i < n && d->n < DIAL_ADDRS_MAX; i++) {
		if (dial_may(addrs[i]))
			d->addrs[d->n++] = addrs[i];
	}
	d->timer = d->n ? timer_new(l, on_timer, d) : NULL;
	if (!d->timer) {
		int r = d->n ? -ENOMEM : -EACCES;

		free(d);
		return r;
	}
	timer_arm(d->timer, 0); /* so that the callback never runs inside this call */
	*ret = d;
	return 0;
}

void dial_cancel(struct dial *d)
{
	if (!d)
		return;
	hang_up(d);
	timer_free(d->timer);
	free(d);
}

void dial_keep_alive(int fd)
{
	int on = 1, idle_s = 120, every_s = 30, times = 4;

	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof every_s);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}
