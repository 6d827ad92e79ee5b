/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/cp_tree: copies a directory into or out of a sandbox. */
#include "cli/sandbox/cp_tree.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/sandbox/pack.h"
#include "cli/sandbox/unpack.h"
#include "cli/signals.h"

#define ERRORS_MAX (16 * 1024) /* of tar's error messages */

struct copy {
	struct atoll_process *p;
	struct pack *pack;     /* upload, until everything is sent */
	struct unpack *unpack; /* download */
	char *piece;           /* ATOLL_INPUT_MAX bytes */
	struct buf errors;     /* standard error of the command */
	struct err e;
	bool failed; /* on this side; reason in e */
};

static int on_output(void *user, enum atoll_stream which, const void *p, size_t n)
{
	struct copy *c = user;

	if (which == ATOLL_STDERR) {
		size_t room = c->errors.max - c->errors.n;

		buf_put(&c->errors, p, n < room ? n : room);
		return 0;
	}
	if (!c->unpack)
		return 0;
	c->failed = unpack_put(c->unpack, p, n, &c->e) < 0;
	return c->failed;
}

/* Sends the next piece if the process can take it. */
static int feed(struct copy *c)
{
	if (!c->pack || !atoll_process_can_send(c->p))
		return 0;
	ssize_t n = pack_read(c->pack, c->piece, ATOLL_INPUT_MAX, &c->e);
	if (n < 0) {
		c->failed = true;
		return -1;
	}
	if (n > 0 && atoll_process_send(c->p, c->piece, (size_t)n) == 0)
		return 0;
	if (n == 0)
		(void)atoll_process_close_stdin(c->p);
	c->pack = NULL; /* all sent, or the process no longer reads */
	return 0;
}

static int pump(struct copy *c, struct atoll_error *e)
{
	for (;;) {
		struct pollfd fd = { .fd = signals_fd(), .events = POLLIN };
		int rc = atoll_process_poll(c->p, &fd, 1, -1, e);

		if (rc != 0)
			return rc;
		if (signals_first() != 0 || feed(c) < 0)
			return -ECANCELED;
	}
}

static void show_errors(struct copy *c)
{
	struct str rest = buf_view(&c->errors);

	while (rest.p && rest.n > 0) {
		struct str line = str_cut(&rest, '\n');
		autofree char *z = str_dup(line);
		autobuf struct buf clean = BUF_INIT(ERRORS_MAX);

		if (z)
			put_clean(&clean, z);
		if (clean.n > 0)
			say("%s", buf_cstr(&clean));
	}
}

/* Kills the command if it still runs, prints errors, and returns 0 or EXIT_FAILURE. */
static int outcome(const struct cp_end *in, struct copy *c, int rc, struct atoll_error *e)
{
	struct atoll_error ignored;

	if (rc != 1 && atoll_process_pid(c->p) > 0) {
		atoll_set_stop(in->a, NULL, NULL); /* the signal that stopped us must not cancel this call */
		(void)atoll_process_signal(c->p, SIGKILL, &ignored);
	}
	show_errors(c);
	if (c->failed)
		return fail("%s", c->e.text);
	if (signals_first() != 0)
		return EXIT_FAILURE;
	if (rc < 0)
		return fail("%s", e->text);
	const struct atoll_exit *x = atoll_process_exit(c->p);
	if (x->code != 0)
		return c->errors.n ? EXIT_FAILURE : fail("the copy command failed in the sandbox (%s)", x->status);
	return 0;
}

static int run(const struct cp_end *in, const char *const *argv, struct copy *c)
{
	const struct atoll_command cmd = { .argv = argv,
		.cwd = "~",
		.as_user = in->user,
		.with_stdin = c->pack != NULL };
	struct atoll_error e = { .no = 0 };

	c->errors = BUF_INIT(ERRORS_MAX);
	if (atoll_process_start(in->sb, &cmd, on_output, c, &c->p, &e) < 0)
		return fail("%s", e.text);
	int rc = outcome(in, c, pump(c, &e), &e);
	atoll_process_free(c->p);
	buf_done(&c->errors);
	return rc;
}

int cp_run(const struct cp_end *in, const char *const *argv)
{
	return run(in, argv, &(struct copy) { .p = NULL });
}

int cp_tree_up(const struct cp_end *in, const char *local, const char *remote)
{
	/* Without the names of local users, and with the modes unchanged. */
	const char *const argv[] = {
		"/bin/sh",
		"-c",
		"mkdir -p -- \"$1\" && cd -- \"$1\" && exec tar -x -p -o -f -",
		"atoll-cp",
		remote,
		NULL,
	};
	autofree char *piece = malloc(ATOLL_INPUT_MAX);
	struct copy c = { .piece = piece };
	struct pack *pack;

	if (!piece)
		return fail("out of memory");
	if (pack_new(local, &pack, &c.e) < 0)
		return fail("%s", c.e.text);
	c.pack = pack;
	int rc = run(in, argv, &c);
	if (rc == 0 && pack_skipped(pack) > 0)
		rc = fail("%zu entries of '%s' could not be copied", pack_skipped(pack), local);
	pack_free(pack);
	return rc;
}

int cp_tree_down(const struct cp_end *in, const char *remote, const char *local)
{
	const char *const argv[] = { "/bin/sh", "-c", "cd -- \"$1\" && exec tar -c -f - .", "atoll-cp", remote, NULL };
	struct copy c = { .p = NULL };

	if (mkdir(local, 0777) < 0 && errno != EEXIST)
		return fail("create the directory '%s': %s", local, strerrordesc_np(errno));
	if (unpack_new(local, &c.unpack, &c.e) < 0)
		return fail("%s", c.e.text);
	int rc = run(in, argv, &c);
	if (rc == 0 && !unpack_done(c.unpack))
		rc = fail("the archive from the sandbox is truncated");
	if (rc == 0 && unpack_skipped(c.unpack) > 0)
		rc = fail("%zu entries of '%s' could not be copied", unpack_skipped(c.unpack), remote);
	unpack_free(c.unpack);
	return rc;
}
