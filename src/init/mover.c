/* SPDX-License-Identifier: Apache-2.0 */
/* mover: a carrier for each direction. */
#include "init/mover.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "loop/carrier.h"
#include "loop/loop.h"

struct way {				/* from one side to the other */
	struct carrier held;
	bool eof, finished;		/* its source has ended; its destination has been told */
};

struct mover {
	struct loop *loop;
	void (*over)(void *user);
	void *user;
	int fd[2];
	struct watch *watch[2];
	struct way way[2];		/* way[i] is from fd[i] to fd[1 - i] */
	bool ended;
};

static void mover_gone(void *p)
{
	struct mover *m = p;
	void (*over)(void *user) = m->over;
	void *user = m->user;

	free(m);
	if (over)
		over(user);
}

static void mover_end(struct mover *m, bool orderly)
{
	const struct linger now = { .l_onoff = 1, .l_linger = 0 };

	if (m->ended)
		return;
	m->ended = true;
	for (int i = 0; i < 2; i++) {
		carrier_drop(&m->way[i].held);
		watch_free(take_ptr(&m->watch[i]));
		if (!orderly)
			(void)setsockopt(m->fd[i], SOL_SOCKET, SO_LINGER, &now, sizeof(now));
		fd_close(take_fd(&m->fd[i]));
	}
	loop_defer(m->loop, mover_gone, m);
}

void mover_break(struct mover *m)
{
	m->over = NULL;
	mover_end(m, false);
}

/* To where it goes. False: broken. */
static bool push(struct mover *m, int i)
{
	struct way *w = &m->way[i];

	if (carrier_unload(&w->held, m->fd[1 - i]) < 0)
		return false;
	if (w->held.n == 0 && w->eof && !w->finished) {
		w->finished = true;
		(void)shutdown(m->fd[1 - i], SHUT_WR);
	}
	return true;
}

/* Has the peer closed for good, and not only stopped sending? Then there is nobody to read what the other side still says. */
static bool is_gone(int fd)
{
	struct pollfd p = { .fd = fd };

	return poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLERR));
}

/* From where it comes, with nothing held. False: broken. */
static bool pull(struct mover *m, int i)
{
	struct way *w = &m->way[i];
	ssize_t n = carrier_load(&w->held, m->fd[i], CARRIER_MAX);

	if (n < 0)
		return n == -EAGAIN;
	w->eof = n == 0;
	if (w->eof && is_gone(m->fd[i]))
		m->way[1 - i].finished = true;
	return push(m, i);
}

static int events_of(const struct mover *m, int i)
{
	const struct way *from = &m->way[i], *to = &m->way[1 - i];

	return (!from->eof && from->held.n == 0 ? WATCH_IN : 0) | (to->held.n > 0 ? WATCH_OUT : 0);
}

static void ready(struct mover *m, int i, int events)
{
	bool sound = true;

	if ((events & WATCH_OUT) && m->way[1 - i].held.n > 0)
		sound = push(m, 1 - i);
	if (sound && (events & WATCH_IN) && m->way[i].held.n == 0 && !m->way[i].eof)
		sound = pull(m, i);
	if (!sound || (m->way[0].finished && m->way[1].finished)) {
		mover_end(m, sound);
		return;
	}
	for (int k = 0; k < 2; k++)
		watch_set(m->watch[k], events_of(m, k));
}

static void on_first(void *user, int events)
{
	ready(user, 0, events);
}

static void on_second(void *user, int events)
{
	ready(user, 1, events);
}

/* What came before us goes first; it fits into a pipe, or else the caller has sent too much too soon. */
static bool begin(struct mover *m, struct str early)
{
	return early.n == 0 || (carrier_put(&m->way[0].held, early) == 0 && push(m, 0));
}

struct mover *mover_new(struct loop *l, int a, int b, struct str early, void (*over)(void *user), void *user)
{
	struct mover *m = calloc(1, sizeof(*m));

	if (!m) {
		fd_close(a);
		fd_close(b);
		return NULL;
	}
	*m = (struct mover) { .loop = l, .over = over, .user = user, .fd = { a, b }, .way = { { .held = CARRIER_EMPTY }, { .held = CARRIER_EMPTY } } };
	m->watch[0] = watch_new(l, a, 0, on_first, m);
	m->watch[1] = watch_new(l, b, 0, on_second, m);
	if (!m->watch[0] || !m->watch[1] || !begin(m, early)) {
		for (int i = 0; i < 2; i++) {
			watch_free(m->watch[i]);
			fd_close(m->fd[i]);
			carrier_drop(&m->way[i].held);
		}
		free(m);
		return NULL;
	}
	for (int k = 0; k < 2; k++)
		watch_set(m->watch[k], events_of(m, k));
	return m;
}
