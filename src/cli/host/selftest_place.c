/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/selftest_place: creates sandboxes that contain the suite's programs, and runs programs in them. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/host/selftest.h"

#define LIFE_S 1800                 /* lifetime, in case this program is killed */
#define LINE_BYTES_MAX (256 * 1024) /* a longer line is discarded */

static const struct {
	const char *name;
	bool program;
} files[] = {
	{ "escape", true },
	{ "escape.py", false },
	{ "escape.sh", false },
	{ "escape.js", false },
	{ "restore.py", false },
	{ "syscalls.tbl", false },
};

/* --- programs --- */

struct guest {
	struct atoll_process *p;
	struct buf out;
	line_fn *fn;
	void *user;
	int said; /* what fn returned, if not 0 */
};

static int on_output(void *user, enum atoll_stream which, const void *p, size_t n)
{
	struct guest *g = user;

	if (which != ATOLL_STDOUT)
		return 0;
	if (g->out.n + n > LINE_BYTES_MAX)
		buf_consume(&g->out, g->out.n);
	buf_put(&g->out, p, n);
	for (char *end; g->said == 0 && g->out.n && (end = memchr(g->out.p, '\n', g->out.n));) {
		size_t len = (size_t)(end - g->out.p);
		autofree char *line = str_dup((struct str) { g->out.p, len });

		buf_consume(&g->out, len + 1);
		if (line)
			g->said = g->fn(g->user, line);
	}
	return 0;
}

void guest_free(struct guest *g)
{
	if (!g)
		return;
	atoll_process_free(g->p);
	buf_done(&g->out);
	free(g);
}

struct guest *guest_start(struct atoll_sandbox *sb, const struct job *j, line_fn *fn, void *user, struct err *e)
{
	struct atoll_command cmd = { .argv = j->argv,
		.as_user = j->as_user,
		.envs = j->envs,
		.n_envs = j->n_envs,
		.cwd = "/" };
	struct guest *g = calloc(1, sizeof *g);
	struct atoll_error why;

	if (!g) {
		(void)err_set(e, ENOMEM, "out of memory");
		return NULL;
	}
	*g = (struct guest) { .out = BUF_INIT(2 * LINE_BYTES_MAX), .fn = fn, .user = user };
	if (atoll_process_start(sb, &cmd, on_output, g, &g->p, &why) < 0) {
		(void)err_set(e, why.no, "%s", why.text);
		guest_free(g);
		return NULL;
	}
	return g;
}

/* Returns 1 if the program exited, 0 if fn returned a value other than 0, or -1 on error. */
static int guest_go_on(struct guest *g, unsigned limit_s, struct err *e)
{
	uint64_t end = clock_mono_ms() + limit_s * 1000ull;
	struct atoll_error why;

	while (g->said == 0) {
		uint64_t now = clock_mono_ms();
		int r = now < end ? atoll_process_poll(g->p, NULL, 0, (int)(end - now), &why) : -1;

		if (now >= end)
			return err_set(e, ETIMEDOUT, "no output within %u s", limit_s), -1;
		if (r < 0)
			return err_set(e, why.no, "%s", why.text), -1;
		if (r > 0)
			return 1;
	}
	return 0;
}

int guest_wait(struct guest *g, unsigned limit_s, struct err *e)
{
	int r = guest_go_on(g, limit_s, e);

	if (r == 1 && g->said == 0)
		(void)err_set(e, EPIPE, "it exited early (%s)",
		    atoll_process_exit(g->p) ? atoll_process_exit(g->p)->status : "?");
	return g->said == 1 ? 0 : -1;
}

void guest_look(struct guest *g)
{
	struct atoll_error ignored;

	g->said = 0;
	(void)atoll_process_poll(g->p, NULL, 0, 300, &ignored);
}

int job_run(struct atoll_sandbox *sb, const struct job *j, line_fn *fn, void *user, struct err *e)
{
	struct guest *g = guest_start(sb, j, fn, user, e);
	int r = g ? guest_go_on(g, j->limit_s, e) : -1;
	const struct atoll_exit *x = r == 1 ? atoll_process_exit(g->p) : NULL;
	struct atoll_error ignored;

	if (g && !x)
		(void)atoll_process_signal(g->p, SIGKILL, &ignored);
	r = x ? x->code & 0xff : -1;
	guest_free(g);
	return r;
}

/* --- sandboxes --- */

static ssize_t give(void *user, void *to, size_t n)
{
	ssize_t r = read(*(int *)user, to, n);

	return r < 0 ? -errno : r;
}

static int ignore_line(void *user, char *line)
{
	(void)user;
	(void)line;
	return 0;
}

static int put_files(const struct selftest *t, struct atoll_sandbox *sb, struct err *e)
{
	struct atoll_error why;

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		autofree char *from = str_fmt("%s/%s", t->suite, files[i].name),
			      *to = str_fmt(PLACE "/%s", files[i].name);
		autoclose int fd = from && to ? open(from, O_RDONLY | O_CLOEXEC) : -1;

		if (fd < 0)
			return err_sys(e, "open '%s'", from ? from : files[i].name);
		if (atoll_file_write(sb, to, NULL, give, &fd, &why) < 0)
			return err_set(e, why.no, "copy '%s' into a sandbox: %s", files[i].name, why.text);
	}
	const char *const argv[] = { "/bin/chmod", "755", PLACE, PLACE "/escape", NULL };
	struct job j = { .argv = argv, .limit_s = 30 };

	return job_run(sb, &j, ignore_line, NULL, e) == 0
	    ? 0
	    : err_set(e, EIO, "the suite's program cannot be made executable");
}

static struct atoll_sandbox *make(struct selftest *t, struct atoll_spec spec, struct err *e)
{
	static const struct atoll_pair mark = SELFTEST_MARK;
	struct atoll_sandbox *sb = NULL;
	struct atoll_error why;

	spec.template_id = t->template_id;
	spec.timeout_s = LIFE_S;
	spec.metadata = &mark;
	spec.n_metadata = 1;
	if (atoll_sandbox_create(t->a, &spec, &sb, &why) < 0) {
		(void)err_set(e, why.no, "create a sandbox: %s", why.text);
		return NULL;
	}
	if (put_files(t, sb, e) < 0) {
		place_end(t, sb);
		return NULL;
	}
	return sb;
}

struct atoll_sandbox *place_new(struct selftest *t, bool no_internet, struct err *e)
{
	return make(t, (struct atoll_spec) { .no_internet = no_internet }, e);
}

struct atoll_sandbox *place_with_volume(struct selftest *t, const struct atoll_pair *volume, struct err *e)
{
	return make(t, (struct atoll_spec) { .volumes = volume, .n_volumes = 1 }, e);
}

void place_end(struct selftest *t, struct atoll_sandbox *sb)
{
	struct atoll_error why;

	if (!sb)
		return;
	atoll_set_stop(t->a, NULL, NULL);
	if (atoll_kill(t->a, atoll_sandbox_id(sb), &why) < 0 && why.no != ENOENT)
		say("could not kill sandbox '%s', which ends at its timeout: %s", atoll_sandbox_id(sb), why.text);
	atoll_sandbox_free(sb);
}
