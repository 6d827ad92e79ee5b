/* SPDX-License-Identifier: Apache-2.0 */
/* oci/apply: the process that applies layers to the image's directory, in its jail. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/caps.h"
#include "oci/expand.h"
#include "oci/jail.h"
#include "oci/pull.h"

#define PIECE (256u << 10)
#define PIPE_SIZE (1 << 20)

struct outcome { /* in memory shared with the expander, which reports its result here */
	struct err e;
	struct digest diff_id;
};

/* --- the expander --- */

static int into_pipe(void *user, const void *p, size_t n)
{
	return fd_write_all(*(int *)user, p, n);
}

static int expand_all(int blob, int out, uint64_t max_out, struct outcome *o)
{
	struct expand *x = expand_new(max_out, into_pipe, &out);
	char *piece = malloc(PIECE);
	ssize_t n = 0;
	int rc = x && piece ? 0 : err_set(&o->e, ENOMEM, "out of memory");

	while (rc == 0 && (n = read(blob, piece, PIECE)) > 0)
		rc = expand_put(x, piece, (size_t)n, &o->e);
	if (rc == 0 && n < 0)
		rc = err_sys(&o->e, "read a layer");
	if (rc == 0)
		rc = expand_end(x, &o->diff_id, &o->e);
	expand_free(x);
	free(piece);
	return rc;
}

_Noreturn static void expander(int blob, int out, uint64_t max_out, struct outcome *o)
{
	if (jail_expander(&o->e) == 0 && expand_all(blob, out, max_out, o) == 0)
		_exit(0);
	_exit(1);
}

/* --- a layer --- */

static int lay_all(int in, struct layer_totals *totals, struct err *e)
{
	int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct layer *l = root < 0 ? NULL : layer_new(root, totals);
	char *piece = malloc(PIECE);
	ssize_t n = 0;
	int rc = l && piece ? 0 : err_set(e, ENOMEM, "out of memory");

	while (rc == 0 && (n = read(in, piece, PIECE)) > 0)
		rc = layer_put(l, piece, (size_t)n, e);
	if (rc == 0 && n < 0)
		rc = err_sys(e, "read a layer");
	if (rc == 0)
		rc = layer_end(l, e);
	layer_free(l);
	free(piece);
	fd_close(root);
	return rc;
}

/* Picks the error of the process that failed first: the other only sees the pipe end. */
static void judge(struct apply_reply *r, const struct outcome *o, int status)
{
	if (o->e.no && o->e.no != EPIPE)
		r->e = o->e;
	else if (!r->e.no && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
		(void)err_set(&r->e, EBADMSG, "the layer could not be unpacked: its expander died");
}

static void apply_one(int blob, struct layer_totals *totals, struct outcome *o, struct apply_reply *r)
{
	int p[2], status = 0;

	*r = (struct apply_reply) { 0 };
	*o = (struct outcome) { 0 };
	if (pipe2(p, O_CLOEXEC) < 0) {
		(void)err_sys(&r->e, "make a pipe");
		return;
	}
	(void)fcntl(p[1], F_SETPIPE_SZ, PIPE_SIZE);
	/* The limit includes headers and padding: even an empty file takes 512 bytes in an archive. */
	uint64_t max_out = totals->max_bytes - totals->bytes + (totals->max_entries - totals->entries) * 4096;
	pid_t pid = fork();

	if (pid == 0) {
		(void)close(p[0]);
		expander(blob, p[1], max_out, o);
	}
	(void)close(p[1]);
	if (pid < 0)
		(void)err_sys(&r->e, "fork");
	else
		(void)lay_all(p[0], totals, &r->e);
	(void)close(p[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	judge(r, o, status);
	r->diff_id = o->diff_id;
	r->totals = *totals;
}

static int enter(int keeper, struct err *e)
{
	autoclose int root = -1;
	size_t n_fds = 0;
	char c;

	/* The id map has been written when this message arrives. */
	if (fd_recv(keeper, &c, 1, &root, 1, &n_fds) != 1 || n_fds != 1)
		return err_set(e, EPIPE, "the keeper is gone");
	if (caps_become(0, 0, e) < 0)
		return -e->no;
	return jail_applier(root, e);
}

_Noreturn void apply_main(int keeper, const struct layer_totals *limits)
{
	struct apply_reply r = { 0 };
	struct layer_totals totals = *limits;
	struct outcome *o = mmap(NULL, sizeof *o, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct apply_msg m;

	if (o == MAP_FAILED)
		(void)err_sys(&r.e, "out of memory");
	else
		(void)enter(keeper, &r.e);
	if (fd_send(keeper, &r, sizeof r, NULL, 0) < 0 || r.e.no)
		_exit(1);
	for (;;) {
		autoclose int blob = -1;
		size_t n_fds = 0;

		ssize_t n = fd_recv(keeper, &m, sizeof m, &blob, 1, &n_fds);
		if (n == 0)
			_exit(0);
		if (n != sizeof m || n_fds != 1)
			_exit(1);
		apply_one(blob, &totals, o, &r);
		if (fd_send(keeper, &r, sizeof r, NULL, 0) < 0 || r.e.no)
			_exit(1);
	}
}
