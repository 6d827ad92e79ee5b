/* SPDX-License-Identifier: Apache-2.0 */
/* link: SEQPACKET with a queue. */
#include "warden/link.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "ipc/msg.h"
#include "loop/loop.h"

#define PACKETS_PER_ROUND 64 /* then other events are handled */
#define LINK_FDS 1           /* more than any request carries, to tell "too many" from "none" */

struct packet {
	struct packet *next;
	int fd;
	size_t n;
	char bytes[];
};

struct link {
	struct loop *loop;
	int fd;
	struct watch *watch;
	const struct link_ops *ops;
	void *user;
	struct packet *first, **last;
	size_t queued;
	bool dead;   /* link_free() was called; freed at the end of the round */
	bool gone;   /* on_gone was called, */
	bool closed; /* because the peer has closed its end */
};

static void packet_free(struct packet *p)
{
	fd_close(p->fd);
	free(p);
}

static void link_gone(struct link *lk, const char *why)
{
	if (lk->dead || lk->gone)
		return;
	lk->gone = true;
	watch_set(lk->watch, 0);
	lk->ops->on_gone(lk->user, why);
}

static void link_rearm(struct link *lk)
{
	if (!lk->dead && !lk->gone)
		watch_set(lk->watch, (lk->queued < LINK_HIGH ? WATCH_IN : 0) | (lk->first ? WATCH_OUT : 0));
}

/* ECONNRESET: it has not read everything. */
static bool is_closed(ssize_t r)
{
	return r == 0 || r == -EPIPE || r == -ECONNRESET;
}

/* false: the peer has closed */
static bool link_flush(struct link *lk)
{
	while (lk->first) {
		struct packet *p = lk->first;
		ssize_t r = fd_send(lk->fd, p->bytes, p->n, &p->fd, p->fd >= 0);

		if (r == -EAGAIN)
			break;
		if (r < 0) {
			lk->closed = is_closed(r);
			return false;
		}
		lk->first = p->next;
		if (!lk->first)
			lk->last = &lk->first;
		lk->queued--;
		packet_free(p);
	}
	link_rearm(lk);
	return true;
}

static void link_read(struct link *lk)
{
	char packet[MSG_MAX + 1];
	int fds[LINK_FDS];
	size_t n_fds;

	for (int i = 0; i < PACKETS_PER_ROUND && !lk->dead && !lk->gone && lk->queued < LINK_HIGH; i++) {
		ssize_t n = fd_recv(lk->fd, packet, sizeof packet, fds, LINK_FDS, &n_fds);

		if (n == -EAGAIN)
			break;
		if (n <= 0) {
			lk->closed = is_closed(n);
			link_gone(lk,
			    n == 0               ? "closed"
				: n == -EMSGSIZE ? "packet too large or too many fds"
						 : "read error");
			return;
		}
		lk->ops->on_packet(lk->user, packet, (size_t)n, fds, n_fds);
		for (size_t k = 0; k < n_fds; k++)
			fd_close(fds[k]);
	}
	link_rearm(lk);
}

static void on_ready(void *user, int events)
{
	struct link *lk = user;

	if ((events & WATCH_OUT) && !link_flush(lk))
		link_gone(lk, "write error");
	if ((events & WATCH_IN) && !lk->dead && !lk->gone)
		link_read(lk);
}

struct link *link_new(struct loop *l, int fd, const struct link_ops *ops, void *user)
{
	struct link *lk = calloc(1, sizeof *lk);

	if (!lk) {
		fd_close(fd);
		return NULL;
	}
	*lk = (struct link) { .loop = l, .fd = fd, .ops = ops, .user = user, .last = &lk->first };
	lk->watch = fd_nonblock(fd, true) < 0 ? NULL : watch_new(l, fd, WATCH_IN, on_ready, lk);
	if (!lk->watch) {
		fd_close(fd);
		free(lk);
		return NULL;
	}
	return lk;
}

static void on_stuck(void *user)
{
	struct link *lk = user;

	link_gone(lk, lk->queued >= LINK_MAX ? "does not read its answers" : "write error");
}

void link_send(struct link *lk, const void *p, size_t n, int fd)
{
	struct packet *pk = lk->dead || lk->gone || lk->queued >= LINK_MAX ? NULL : malloc(sizeof *pk + n);

	if (!pk) {
		fd_close(fd);
		if (!lk->dead && !lk->gone)
			loop_defer(lk->loop, on_stuck, lk); /* not inside the caller */
		return;
	}
	pk->next = NULL;
	pk->fd = fd;
	pk->n = n;
	memcpy(pk->bytes, p, n);
	*lk->last = pk;
	lk->last = &pk->next;
	lk->queued++;
	if (lk->first == pk && !link_flush(lk))
		loop_defer(lk->loop, on_stuck, lk);
}

bool link_closed(const struct link *lk)
{
	return lk->closed;
}

int link_fd(const struct link *lk)
{
	return lk->fd;
}

static void link_destroy(void *user)
{
	struct link *lk = user;

	while (lk->first) {
		struct packet *p = lk->first;

		lk->first = p->next;
		packet_free(p);
	}
	free(lk);
}

void link_free(struct link *lk)
{
	if (!lk || lk->dead)
		return;
	lk->dead = true;
	watch_free(lk->watch);
	fd_close(lk->fd);
	loop_defer(lk->loop, link_destroy, lk);
}
