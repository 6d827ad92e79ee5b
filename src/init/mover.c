/* SPDX-License-Identifier: Apache-2.0 */
/* mover: splice(2) from a socket into a pipe, and from the pipe into the other socket.
 *
 * A pipe is held only while something is in it. The kernel counts the pages of all pipes of a user, and makes those of a
 * user who has many very small: a thousand idle movers must have none. */
#include "init/mover.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "loop/loop.h"

#define PIECE (256 * 1024)		/* moved at a time; also the size of a pipe, where that is allowed */
#define SPARES 8			/* pipes that are kept for the next one */

struct way {				/* from one side to the other */
	int pipe[2];			/* -1: none */
	size_t n;			/* bytes in it */
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

static int spares[SPARES][2];
static size_t n_spares;

static bool pipe_take(struct way *w)
{
	if (w->pipe[0] >= 0)
		return true;
	if (n_spares > 0) {
		n_spares--;
		w->pipe[0] = spares[n_spares][0];
		w->pipe[1] = spares[n_spares][1];
		return true;
	}
	if (pipe2(w->pipe, O_CLOEXEC | O_NONBLOCK) < 0) {
		w->pipe[0] = w->pipe[1] = -1;
		return false;
	}
	(void)fcntl(w->pipe[1], F_SETPIPE_SZ, PIECE);	/* a smaller one does, too */
	return true;
}

/* Only an empty one can be given to another. */
static void pipe_drop(struct way *w)
{
	if (w->pipe[0] >= 0 && w->n == 0 && n_spares < SPARES) {
		spares[n_spares][0] = take_fd(&w->pipe[0]);
		spares[n_spares++][1] = take_fd(&w->pipe[1]);
		return;
	}
	fd_close(take_fd(&w->pipe[0]));
	fd_close(take_fd(&w->pipe[1]));
}

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
		pipe_drop(&m->way[i]);
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

/* Out of the pipe. False: broken. */
static bool push(struct mover *m, int i)
{
	struct way *w = &m->way[i];

	while (w->n > 0) {
		ssize_t n = splice(w->pipe[0], NULL, m->fd[1 - i], NULL, w->n, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return true;
		if (n <= 0)
			return false;
		w->n -= (size_t)n;
	}
	pipe_drop(w);
	if (w->eof && !w->finished) {
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

/* Into the pipe, which is empty. False: broken. */
static bool pull(struct mover *m, int i)
{
	struct way *w = &m->way[i];
	ssize_t n;

	if (!pipe_take(w))
		return false;
	do
		n = splice(m->fd[i], NULL, w->pipe[1], NULL, PIECE, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno != EAGAIN)
		return false;
	w->n = n > 0 ? (size_t)n : 0;
	w->eof = n == 0;
	if (w->eof && is_gone(m->fd[i]))
		m->way[1 - i].finished = true;
	return push(m, i);
}

static int events_of(const struct mover *m, int i)
{
	const struct way *from = &m->way[i], *to = &m->way[1 - i];

	return (!from->eof && from->n == 0 ? WATCH_IN : 0) | (to->n > 0 ? WATCH_OUT : 0);
}

static void ready(struct mover *m, int i, int events)
{
	bool sound = true;

	if ((events & WATCH_OUT) && m->way[1 - i].n > 0)
		sound = push(m, 1 - i);
	if (sound && (events & WATCH_IN) && m->way[i].n == 0 && !m->way[i].eof)
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
	struct way *w = &m->way[0];

	if (early.n == 0)
		return true;
	if (!pipe_take(w) || write(w->pipe[1], early.p, early.n) != (ssize_t)early.n)
		return false;
	w->n = early.n;
	return push(m, 0);
}

struct mover *mover_new(struct loop *l, int a, int b, struct str early, void (*over)(void *user), void *user)
{
	struct mover *m = calloc(1, sizeof(*m));

	if (!m) {
		fd_close(a);
		fd_close(b);
		return NULL;
	}
	*m = (struct mover) { .loop = l, .over = over, .user = user, .fd = { a, b }, .way = { { { -1, -1 } }, { { -1, -1 } } } };
	m->watch[0] = watch_new(l, a, 0, on_first, m);
	m->watch[1] = watch_new(l, b, 0, on_second, m);
	if (!m->watch[0] || !m->watch[1] || !begin(m, early)) {
		for (int i = 0; i < 2; i++) {
			watch_free(m->watch[i]);
			fd_close(m->fd[i]);
			fd_close(m->way[0].pipe[i]);
		}
		free(m);
		return NULL;
	}
	for (int k = 0; k < 2; k++)
		watch_set(m->watch[k], events_of(m, k));
	return m;
}
