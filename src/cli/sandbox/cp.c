/* SPDX-License-Identifier: Apache-2.0 */
/* atoll cp: copies files and directories into and out of a sandbox. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/sandbox/cp_path.h"
#include "cli/sandbox/cp_tree.h"
#include "cli/settings.h"
#include "cli/signals.h"

#define NEW_FILE_MODE 0644 /* mode of a new file in a sandbox */

struct job {
	struct cp_path from, to;
	struct cp_end in;
};

/* Removes a leading "~": commands inside do not expand it, but start in the home directory. */
static const char *below_home(const char *path)
{
	if (strcmp(path, "~") == 0)
		return ".";
	return strncmp(path, "~/", 2) == 0 ? path[2] ? path + 2 : "." : path;
}

static int failed(const struct atoll_error *e)
{
	return e->no == ECANCELED ? EXIT_FAILURE : fail("%s", e->text);
}

/* --- upload --- */

static ssize_t give(void *user, void *to, size_t n)
{
	ssize_t r;

	do {
		r = read(*(int *)user, to, n);
	} while (r < 0 && errno == EINTR && signals_first() == 0);
	return r < 0 ? -errno : r;
}

static int set_mode(const struct job *j, const char *target, unsigned mode)
{
	char digits[8];
	const char *const argv[] = { "/bin/chmod", digits, "--", below_home(target), NULL };

	(void)snprintf(digits, sizeof(digits), "%o", mode);
	return cp_run(&j->in, argv);
}

/* Looks up the destination in the sandbox. Returns 0, or EXIT_FAILURE after printing a message. */
static int look(const struct job *j, const char *path, struct atoll_file *ret, bool *ret_exists)
{
	struct atoll_error e;
	int rc = atoll_file_stat(j->in.sb, path, j->in.user, ret, &e);

	if (rc < 0 && rc != -ENOENT)
		return failed(&e);
	*ret_exists = rc == 0;
	return 0;
}

static int up_file(const struct job *j, int fd, const struct stat *st, const char *target, bool exists)
{
	struct atoll_error e;

	if (atoll_file_write(j->in.sb, target, j->in.user, give, &fd, &e) < 0)
		return failed(&e);
	unsigned mode = st->st_mode & 0777;
	return !exists && S_ISREG(st->st_mode) && mode != NEW_FILE_MODE ? set_mode(j, target, mode) : 0;
}

static int up(const struct job *j)
{
	autoclose int fd = j->from.is_stream ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
					     : open(j->from.path, O_RDONLY | O_CLOEXEC);
	struct atoll_file there;
	struct stat st;
	bool exists;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail("open '%s': %s", j->from.path, strerrordesc_np(errno));
	if (look(j, j->to.path, &there, &exists) != 0)
		return EXIT_FAILURE;
	bool into = exists ? there.type == ATOLL_DIRECTORY : j->to.wants_dir && !S_ISDIR(st.st_mode);
	if (into && j->from.is_stream)
		return fail("'%s' is a directory: name the target file", j->to.path);
	autofree char *target = cp_path_join(j->to.path, into ? cp_path_name(j->from.path) : STR_LIT(""));
	if (!target)
		return fail("out of memory");
	if (S_ISDIR(st.st_mode)) {
		if (exists && there.type != ATOLL_DIRECTORY)
			return fail("'%s' is a directory, but '%s' in the sandbox is not one", j->from.path,
			    j->to.path);
		return cp_tree_up(&j->in, j->from.path, below_home(target));
	}
	if (into && look(j, target, &there, &exists) != 0)
		return EXIT_FAILURE;
	return up_file(j, fd, &st, target, exists);
}

/* --- download --- */

struct sink {
	int fd;
	int rc; /* result of the failed write */
};

static int take(void *user, const void *p, size_t n)
{
	struct sink *s = user;

	s->rc = fd_write_all(s->fd, p, n);
	return s->rc < 0 || signals_first() != 0;
}

static int down_to(const struct job *j, int fd, const char *target)
{
	struct sink s = { .fd = fd };
	struct atoll_error e;

	if (atoll_file_read(j->in.sb, j->from.path, j->in.user, take, &s, &e) == 0)
		return 0;
	return s.rc < 0 ? fail("write '%s': %s", target, strerrordesc_np(-s.rc)) : failed(&e);
}

/* If the copy fails, an incomplete new file is removed. */
static int down_file(const struct job *j, const char *target, unsigned mode)
{
	bool is_new = true;
	autoclose int fd = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

	if (fd < 0 && errno == EEXIST) {
		is_new = false;
		fd = open(target, O_WRONLY | O_TRUNC | O_CLOEXEC);
	}
	if (fd < 0)
		return fail("write '%s': %s", target, strerrordesc_np(errno));
	int rc = down_to(j, fd, target);
	if (close(take_fd(&fd)) < 0 && rc == 0)
		rc = fail("write '%s': %s", target, strerrordesc_np(errno));
	if (rc != 0 && is_new)
		(void)unlink(target);
	return rc;
}

static int down(const struct job *j)
{
	struct atoll_file file;
	struct stat st;
	bool exists;

	if (look(j, j->from.path, &file, &exists) != 0)
		return EXIT_FAILURE;
	if (!exists)
		return fail("'%s' does not exist in sandbox '%s'", j->from.path, j->from.id);
	if (j->to.is_stream)
		return file.type == ATOLL_DIRECTORY
		    ? fail("'%s' is a directory and cannot be copied to '-'", j->from.path)
		    : down_to(j, STDOUT_FILENO, "-");
	bool here = stat(j->to.path, &st) == 0, into = here && S_ISDIR(st.st_mode);
	if (!here && errno != ENOENT)
		return fail("open '%s': %s", j->to.path, strerrordesc_np(errno));
	if (!here && j->to.wants_dir && file.type != ATOLL_DIRECTORY)
		return fail("directory '%s' does not exist", j->to.path);
	if (here && !into && file.type == ATOLL_DIRECTORY)
		return fail("'%s' is a directory, but '%s' is not one", j->from.path, j->to.path);
	autofree char *target = cp_path_join(j->to.path, into ? cp_path_name(j->from.path) : STR_LIT(""));
	if (!target)
		return fail("out of memory");
	if (file.type == ATOLL_DIRECTORY)
		return cp_tree_down(&j->in, below_home(j->from.path), target);
	return down_file(j, target, file.mode);
}

/* --- the verb --- */

static int copy(const struct settings_opts *conn, struct job *j)
{
	bool is_up = j->to.id[0];
	struct atoll_error e;
	int rc = settings_connect(conn, &j->in.a);

	if (rc != 0)
		return rc;
	if (atoll_sandbox_open(j->in.a, is_up ? j->to.id : j->from.id, &j->in.sb, &e) < 0) {
		rc = fail("%s", e.text);
	} else if ((rc = signals_hold()) == 0) {
		atoll_set_stop(j->in.a, signals_stop_now, NULL);
		rc = is_up ? up(j) : down(j);
	}
	atoll_sandbox_free(j->in.sb);
	atoll_free(j->in.a);
	return signals_leave(rc);
}

static int run(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	struct job j = { .in = { NULL } };
	const struct opt opts[] = { SETTINGS_OPTS(&conn), { "user", 'u', OPT_STR, &j.in.user } };
	struct err e = ERR_INIT;
	int n, rc = verb_parse(v, opts, ARRAY_LEN(opts), OPTS_MIXED, argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (n != 2)
		return usage_error(v, "missing operand: a source and a target are required");
	if (cp_path_parse(argv[0], &j.from, &e) < 0 || cp_path_parse(argv[1], &j.to, &e) < 0)
		return usage_error(v, "%s", e.text);
	if (!j.from.id[0] == !j.to.id[0])
		return usage_error(v,
		    j.to.id[0] ? "one of the two must be a local path"
			       : "one of the two must be in a sandbox: ID:PATH");
	return copy(&conn, &j);
}

const struct verb verb_cp = {
	.name = "cp",
	.summary = "Copy files and directories to and from a sandbox",
	.synopsis = "[--user NAME] FILE|DIR|- ID:PATH | ID:PATH FILE|DIR|-",
	.help = "  -u, --user NAME  user in the sandbox (default: the template's user)\n"
		"\n"
		"A relative path in a sandbox is relative to the user's home directory. Directories are\n"
		"copied recursively. If the target is an existing directory, the copy is created in it\n"
		"under the original's name. - means standard input or output, for a single file.\n"
		"\n"
		"Devices, and links that point outside the directory, are not copied out of a sandbox;\n"
		"the exit status is then 1. Owners and set-ID bits are not preserved.\n"
		"\n" SETTINGS_HELP,
	.run = run,
	.operand = OPERAND_COPY,
};
