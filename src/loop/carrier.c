/* SPDX-License-Identifier: Apache-2.0 */
/* carrier: a few empty pipes are cached for reuse. */
#include "loop/carrier.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "base/fd.h"

#define SPARES 8
/* number of pipes of CARRIER_MAX: 16 MiB of the 64 MiB that a user may have by default, */
#define LARGE_MAX 16
#define PIPE_BYTES (256 * 1024) /* the size of all others */

static _Thread_local int spares[SPARES][2];
static _Thread_local size_t n_spares;
static atomic_size_t n_pipes, max_pipes = SIZE_MAX; /* of all threads, including spare ones */
static atomic_size_t n_large;                       /* large ones among them */

void carrier_limit(size_t pipes)
{
	max_pipes = pipes;
}

/* Makes the pipe as large as allowed; a smaller one works, too. */
static void widen(int fd)
{
	if (n_large < LARGE_MAX && fcntl(fd, F_SETPIPE_SZ, CARRIER_MAX) >= CARRIER_MAX)
		n_large++;
	else
		(void)fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES);
}

static int take_pipe(struct carrier *c)
{
	if (c->pipe[0] >= 0)
		return 0;
	if (n_spares > 0) {
		n_spares--;
		c->pipe[0] = spares[n_spares][0];
		c->pipe[1] = spares[n_spares][1];
		return 0;
	}
	if (n_pipes >= max_pipes)
		return -EMFILE;
	if (pipe2(c->pipe, O_CLOEXEC | O_NONBLOCK) < 0) {
		c->pipe[0] = c->pipe[1] = -1;
		return -errno;
	}
	n_pipes++;
	widen(c->pipe[1]);
	return 0;
}

void carrier_drop(struct carrier *c)
{
	/* Only an empty pipe can be reused. */
	if (c->pipe[0] >= 0 && c->n == 0 && n_spares < SPARES) {
		spares[n_spares][0] = take_fd(&c->pipe[0]);
		spares[n_spares++][1] = take_fd(&c->pipe[1]);
		return;
	}
	if (c->pipe[0] >= 0) {
		n_pipes--;
		if (fcntl(c->pipe[1], F_GETPIPE_SZ) >= CARRIER_MAX)
			n_large--;
	}
	fd_close(take_fd(&c->pipe[0]));
	fd_close(take_fd(&c->pipe[1]));
	c->n = 0;
}

ssize_t carrier_load(struct carrier *c, int fd, size_t max)
{
	ssize_t n = take_pipe(c);

	if (n < 0)
		return n;
	do
		n = splice(fd, NULL, c->pipe[1], NULL, max < CARRIER_MAX ? max : CARRIER_MAX,
		    SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		n = -errno;
	if (n > 0)
		c->n = (size_t)n;
	else
		carrier_drop(c);
	return n;
}

void carrier_thread_ends(void)
{
	while (n_spares > 0) {
		n_spares--;
		n_pipes--;
		fd_close(spares[n_spares][0]);
		fd_close(spares[n_spares][1]);
	}
}

int carrier_unload(struct carrier *c, int fd)
{
	while (c->n > 0) {
		ssize_t n = splice(c->pipe[0], NULL, fd, NULL, c->n, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0)
			return n < 0 ? -errno : -EPIPE;
		c->n -= (size_t)n;
	}
	carrier_drop(c);
	return 0;
}
