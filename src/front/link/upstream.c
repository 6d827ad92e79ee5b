/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/upstream: a small stack of idle connections; the most recently used one is taken first. */
#include "front/link/upstream.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"

/* An idle connection has nothing to read. If it is readable, init has closed it or sent unexpected data. */
static bool is_quiet(int fd)
{
	char c;

	return recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

int upstream_take(struct upstream_idle *p)
{
	while (p->n > 0) {
		int fd = p->idle[--p->n].fd;

		if (is_quiet(fd))
			return fd;
		fd_close(fd);
	}
	return -1;
}

void upstream_put(struct upstream_idle *p, int fd, uint64_t now_ms)
{
	if (p->n == UPSTREAM_IDLE_MAX) {
		fd_close(fd);
		return;
	}
	p->idle[p->n].fd = fd;
	p->idle[p->n++].since_ms = now_ms;
}

void upstream_expire(struct upstream_idle *p, uint64_t now_ms)
{
	size_t old = 0;

	while (old < p->n && now_ms - p->idle[old].since_ms >= UPSTREAM_IDLE_MS)
		fd_close(p->idle[old++].fd);
	memmove(p->idle, p->idle + old, (p->n - old) * sizeof *p->idle);
	p->n -= old;
}

void upstream_close_all(struct upstream_idle *p)
{
	while (p->n > 0)
		fd_close(p->idle[--p->n].fd);
}
