/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/upstream: a small stack of idle connections; the most recently used one is taken first. */
#include "front/link/upstream.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "loop/stream.h"

/* An idle connection has nothing to read. If it is readable, init has closed it or sent unexpected data. */
static bool is_quiet(int fd)
{
	char c;

	return recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

static void close_one(struct upstream_idle *p, size_t i)
{
	stream_close(take_ptr(&p->idle[i].s));
	fd_close(take_fd(&p->idle[i].fd));
}

/* Removes those at the end that are not quiet; false: none is left. */
static bool find_quiet(struct upstream_idle *p)
{
	for (; p->n > 0; p->n--) {
		const struct stream *s = p->idle[p->n - 1].s;

		if (s ? stream_is_quiet(s) : is_quiet(p->idle[p->n - 1].fd))
			return true;
		close_one(p, p->n - 1);
	}
	return false;
}

struct stream *upstream_take(struct upstream_idle *p, struct loop *l)
{
	if (!find_quiet(p))
		return NULL;
	p->n--;
	return p->idle[p->n].s ? take_ptr(&p->idle[p->n].s)
			       : stream_new(l, take_fd(&p->idle[p->n].fd), &stream_unowned, NULL);
}

int upstream_take_fd(struct upstream_idle *p)
{
	if (!find_quiet(p))
		return -1;
	p->n--;
	return p->idle[p->n].s ? stream_take_fd(take_ptr(&p->idle[p->n].s)) : take_fd(&p->idle[p->n].fd);
}

static void put(struct upstream_idle *p, struct stream *s, int fd, uint64_t now_ms)
{
	if (p->n == UPSTREAM_IDLE_MAX) {
		stream_close(s);
		fd_close(fd);
		return;
	}
	p->idle[p->n].s = s;
	p->idle[p->n].fd = fd;
	p->idle[p->n++].since_ms = now_ms;
}

void upstream_put(struct upstream_idle *p, struct stream *s, uint64_t now_ms)
{
	put(p, s, -1, now_ms);
}

void upstream_put_fd(struct upstream_idle *p, int fd, uint64_t now_ms)
{
	put(p, NULL, fd, now_ms);
}

void upstream_expire(struct upstream_idle *p, uint64_t now_ms)
{
	size_t old = 0;

	while (old < p->n && now_ms - p->idle[old].since_ms >= UPSTREAM_IDLE_MS)
		close_one(p, old++);
	memmove(p->idle, p->idle + old, (p->n - old) * sizeof *p->idle);
	p->n -= old;
}

void upstream_close_all(struct upstream_idle *p)
{
	while (p->n > 0)
		close_one(p, --p->n);
}
