/* SPDX-License-Identifier: Apache-2.0 */
/* relay: one pipe per direction, borrowed from a pool while it holds bytes. */
#include "egress/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/fd.h"
#include "loop/loop.h"

#define PIPE_BYTES (256 * 1024)
#define PIPES_KEPT 64
#define ROUNDS 8 /* of one direction, then others get their turn */

struct way {
	int from, to; /* index of the socket */
	int pipe[2];  /* -1: none borrowed */
	size_t held;  /* bytes in the pipe */
	bool eof, done;
};

struct relay {
	struct loop *loop;
	int fd[2];
	struct watch *watch[2];
	int events[2];
	struct way way[2]; /* 0: from the first socket to the second */
	struct buf first;
	size_t first_off;
	relay_fn *fn;
	void *user;
};

static int kept[PIPES_KEPT][2];
static size_t n_kept;

static int pipe_take(struct way *w)
{
	if (w->pipe[0] >= 0)
		return 0;
	if (n_kept > 0) {
		n_kept--;
		w->pipe[0] = kept[n_kept][0];
		w->pipe[1] = kept[n_kept][1];
		return 0;
	}
	if (pipe2(w->pipe, O_CLOEXEC | O_NONBLOCK) < 0) {
		w->pipe[0] = w->pipe[1] = -1;
		return -errno;
	}
	(void)fcntl(w->pipe[1], F_SETPIPE_SZ, PIPE_BYTES); /* best effort */
	return 0;
}

/* Returns an empty pipe to the pool. A pipe that still holds bytes of this connection is closed. */
static void pipe_give(struct way *w)
{
	if (w->pipe[0] < 0)
		return;
	if (w->held == 0 && n_kept < PIPES_KEPT) {
		kept[n_kept][0] = w->pipe[0];
		kept[n_kept++][1] = w->pipe[1];
	} else {
		fd_close(w->pipe[0]);
		fd_close(w->pipe[1]);
	}
	w->pipe[0] = w->pipe[1] = -1;
}

static void relay_drop(struct relay *r, bool reset)
{
	const struct linger now = { .l_onoff = 1, .l_linger = 0 };

	for (int i = 0; i < 2; i++) {
		watch_free(r->watch[i]);
		if (reset && r->fd[i] >= 0)
			(void)setsockopt(r->fd[i], SOL_SOCKET, SO_LINGER, &now, sizeof now);
		fd_close(r->fd[i]);
		pipe_give(&r->way[i]);
	}
	buf_done(&r->first);
	free(r);
}

void relay_free(struct relay *r)
{
	if (r)
		relay_drop(r, true);
}

static void relay_end(struct relay *r, bool reset)
{
	relay_fn *fn = r->fn;
	void *user = r->user;

	relay_drop(r, reset);
	fn(user);
}

/* Sends what was read before the relay started. false: connection broken. */
static bool send_first(struct relay *r)
{
	while (r->first_off < r->first.n) {
		ssize_t n = send(r->fd[1], r->first.p + r->first_off, r->first.n - r->first_off, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		r->first_off += (size_t)n;
	}
	return true;
}

static bool first_left(const struct relay *r)
{
	return r->first_off < r->first.n;
}

/* Moves bytes from the pipe to the socket. false: connection broken. */
static bool way_out(struct relay *r, struct way *w)
{
	ssize_t n = splice(w->pipe[0], NULL, r->fd[w->to], NULL, w->held, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	w->held -= (size_t)n;
	return true;
}

static bool way_in(struct relay *r, struct way *w)
{
	if (pipe_take(w) < 0)
		return false;
	ssize_t n = splice(r->fd[w->from], NULL, w->pipe[1], NULL, PIPE_BYTES, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	w->held += (size_t)n;
	w->eof = n == 0;
	return true;
}

/* Moves as much as possible without blocking. false: connection broken. */
static bool way_run(struct relay *r, struct way *w)
{
	if (w->to == 1 && first_left(r) && !send_first(r))
		return false;
	if (w->done || (w->to == 1 && first_left(r)))
		return true;
	for (int i = 0; i < ROUNDS; i++) {
		if (w->held == 0 && !w->eof && !way_in(r, w))
			return false;
		size_t before = w->held;

		if (before == 0)
			break;
		if (!way_out(r, w))
			return false;
		if (w->held == before)
			break;
	}
	if (w->held == 0)
		pipe_give(w);
	if (w->eof && w->held == 0) {
		w->done = true;
		(void)shutdown(r->fd[w->to], SHUT_WR);
	}
	return true;
}

static void arm(struct relay *r)
{
	int want[2] = { 0, 0 };

	for (int i = 0; i < 2; i++) {
		const struct way *w = &r->way[i];
		bool full = w->held > 0 || (w->to == 1 && first_left(r));

		if (full)
			want[w->to] |= WATCH_OUT;
		else if (!w->eof)
			want[w->from] |= WATCH_IN;
	}
	for (int i = 0; i < 2; i++) {
		if (want[i] != r->events[i]) {
			r->events[i] = want[i];
			watch_set(r->watch[i], want[i]);
		}
	}
}

static void run(struct relay *r, int side, int events)
{
	bool well = true;

	for (int i = 0; i < 2 && well; i++) {
		struct way *w = &r->way[i];

		if (((events & WATCH_OUT) && w->to == side) || ((events & WATCH_IN) && w->from == side))
			well = way_run(r, w);
	}
	if (!well)
		relay_end(r, true);
	else if (r->way[0].done && r->way[1].done)
		relay_end(r, false);
	else
		arm(r);
}

static void on_ready_0(void *user, int events)
{
	run(user, 0, events);
}

static void on_ready_1(void *user, int events)
{
	run(user, 1, events);
}

struct relay *relay_new(struct loop *l, int a, int b, struct str first, relay_fn *fn, void *user)
{
	struct relay *r = calloc(1, sizeof *r);

	if (!r) {
		fd_close(a);
		fd_close(b);
		return NULL;
	}
	*r = (struct relay) {
		.loop = l,
		.fd = { a, b },
		.fn = fn,
		.user = user,
		.first = BUF_INIT(first.n),
		.way = { { 0, 1, { -1, -1 }, 0, false, false }, { 1, 0, { -1, -1 }, 0, false, false } },
	};
	buf_str(&r->first, first);
	r->watch[0] = watch_new(l, a, 0, on_ready_0, r);
	r->watch[1] = watch_new(l, b, 0, on_ready_1, r);
	if (!r->watch[0] || !r->watch[1] || r->first.bad) {
		relay_drop(r, true);
		return NULL;
	}
	arm(r); /* the first bytes are sent as soon as the socket is writable */
	return r;
}
