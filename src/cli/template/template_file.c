/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/template_file: runs tar in a sandbox of the template and writes the output to a local file. */
#include "cli/template/template_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/signals.h"

#define LIFE_S 3600
/* tar's exit status if a file changed meanwhile, because the start command is running */
#define CHANGED 1

struct export
{
	struct atoll *a;
	int fd;
	int no; /* errno of the failed write */
	struct buf said;
	struct atoll_error e;
};

static int take(void *user, enum atoll_stream which, const void *p, size_t n)
{
	struct export *x = user;

	if (which == ATOLL_STDERR)
		buf_put(&x->said, p, n);
	else
		x->no = -fd_write_all(x->fd, p, n);
	return x->no != 0;
}

static int run_tar(struct export *x, struct atoll_sandbox *sb)
{
	/* Mounted file systems such as /proc are left out, but not their mount points. The contents of /tmp and /run
	 * belong to this sandbox only. */
	static const char *const argv[] = { "tar", "-C", "/", "--one-file-system", "--numeric-owner", "--format=posix",
		"--xattrs", "--xattrs-include=user.*", "--xattrs-include=security.capability", "--exclude=./tmp/*",
		"--exclude=./run/*", "--warning=no-file-ignored", "--warning=no-file-changed", "-I", "gzip -1", "-cf",
		"-", ".", NULL };
	struct atoll_command cmd = { .argv = (const char **)(uintptr_t)argv, .as_user = "root", .cwd = "/" };
	struct atoll_process *p;
	int r;

	if (atoll_process_start(sb, &cmd, take, x, &p, &x->e) < 0)
		return fail("%s", x->e.text);
	while ((r = atoll_process_poll(p, NULL, 0, 1000, &x->e)) == 0 && !signals_first())
		;
	const struct atoll_exit *end = r == 1 ? atoll_process_exit(p) : NULL;
	int status = signals_first() ? fail("cancelled")
	    : x->no                  ? fail("write the file: %s", strerror(x->no))
	    : !end                   ? fail("%s", x->e.text)
	    : end->code == 0 || end->code == CHANGED
	    ? 0
	    : fail("tar in a sandbox of the template: %.*s", STR_ARG(str_trim(buf_view(&x->said))));

	atoll_process_free(p);
	return status;
}

static int fill(struct export *x, const char *name)
{
	struct atoll_spec spec = { .template_id = name, .timeout_s = LIFE_S };
	struct atoll_error ignored;
	struct atoll_sandbox *sb;

	if (atoll_sandbox_create(x->a, &spec, &sb, &x->e) < 0)
		return fail("%s", x->e.text);
	int status = run_tar(x, sb);

	atoll_set_stop(x->a, NULL, NULL);
	(void)atoll_kill(x->a, atoll_sandbox_id(sb), &ignored);
	atoll_sandbox_free(sb);
	return status;
}

int template_export(struct atoll *a, const char *name, const char *file)
{
	autofree char *part = str_fmt("%s.part", file);
	autoclose int fd = part ? open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
	struct export x = { .a = a, .fd = fd, .said = BUF_INIT(4096) };

	if (fd < 0)
		return fail("make '%s': %s", part ? part : file, strerror(part ? errno : ENOMEM));
	int status = signals_hold();

	if (status == 0) {
		atoll_set_stop(a, signals_stop_waiting, NULL);
		status = fill(&x, name);
	}
	/* The file gets its name once it is complete and on disk, so that an incomplete template cannot be mistaken
	 * for one. */
	if (status == 0 && (fsync(fd) < 0 || rename(part, file) < 0))
		status = fail("write '%s': %s", file, strerror(errno));
	if (status != 0)
		(void)unlink(part);
	buf_done(&x.said);
	return signals_leave(status);
}
