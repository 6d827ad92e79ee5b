/* SPDX-License-Identifier: Apache-2.0 */
/* sink: one file being uploaded. */
#include "init/files/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "init/files/dirs.h"
#include "init/files/meta.h"
#include "init/files/path.h"
#include "init/text.h"
#include "init/users.h"

#define OPEN_FLAGS (O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

int sink_fail(struct sink_error *e, int status, const char *fmt, ...)
{
	va_list ap;

	e->status = status;
	va_start(ap, fmt);
	(void)vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return -1;
}

static bool is_full(int no)
{
	return no == ENOSPC || no == EDQUOT;
}

static int ensure_parents(const char *path, const char *dir, const struct user *u, struct sink_error *e)
{
	autofree char *at = NULL;
	int rc = dir ? dirs_ensure(dir, u->uid, u->gid, &at) : -ENOMEM;

	if (rc == 0)
		return 0;
	if (is_full(-rc))
		return sink_fail(e, 507, "error ensuring directories: not enough disk space available");
	if (rc == -ENOTDIR)
		return sink_fail(e, 500, "error ensuring directories: path is a file: %s", at ? at : path);
	if (rc == -ENAMETOOLONG)
		return sink_fail(e, 400, "error ensuring directories: mkdir %.200s...: %s", path, text_errno(-rc));
	return sink_fail(e, 500, "error ensuring directories: mkdir %s: %s", at ? at : path, text_errno(-rc));
}

static int check_kind(const struct stat *st, const char *path, struct sink_error *e)
{
	if (S_ISDIR(st->st_mode))
		return sink_fail(e, 400, "path is a directory: %s", path);
	if (!S_ISREG(st->st_mode))
		return sink_fail(e, 400, "path is not a regular file: %s", path);
	return 0;
}

static int fail_open(const char *path, int no, struct sink_error *e)
{
	if (is_full(no))
		return sink_fail(e, 507, "not enough disk space available to create '%s'", path);
	if (no == ENAMETOOLONG || no == ENOTDIR)
		return sink_fail(e, 400, "error opening file: open %s: %s", path, text_errno(no));
	return sink_fail(e, 500, "error opening file: open %s: %s", path, text_errno(no));
}

/* Creates the file. False: it exists, or cannot be created for a reason that open_target() finds out. */
static bool create(struct sink *s, const char *path)
{
	s->fd = open(path, OPEN_FLAGS | O_CREAT | O_EXCL, 0666);
	s->created = s->fd >= 0;
	return s->created;
}

static int open_target(struct sink *s, const char *path, struct sink_error *e)
{
	struct stat st;

	if (stat(path, &st) == 0) {
		/* stat() comes before open(), because opening a device can have side effects. */
		if (check_kind(&st, path, e) < 0)
			return -1;
		s->fd = open(path, OPEN_FLAGS);
		s->holding = true;
	} else if (errno == ENOENT) {
		if (!create(s, path) && errno == EEXIST) { /* a dangling link */
			s->fd = open(path, OPEN_FLAGS | O_CREAT, 0666);
			s->holding = true;
		}
	}
	if (s->fd < 0)
		return fail_open(path, errno, e);
	if (fstat(s->fd, &st) < 0)
		return sink_fail(e, 500, "error getting file info: %s", text_errno(errno));
	return check_kind(&st, path, e);
}

/* Does nothing if the owner is already right: watchers would see a change, and files of /proc refuse even that. A
 * file that was just created belongs to root. */
static int give_away(struct sink *s, const struct user *u, struct sink_error *e)
{
	bool is_new = s->created && u->uid != 0;
	struct stat st;

	if ((!is_new && fstat(s->fd, &st) == 0 && st.st_uid == u->uid && st.st_gid == u->gid) ||
	    fchown(s->fd, u->uid, u->gid) == 0)
		return 0;
	return sink_fail(e, is_full(errno) ? 507 : 500, "error changing file ownership: %s", text_errno(errno));
}

int sink_open(struct sink *s, const char *path, const struct user *u, char **parent, struct sink_error *e)
{
	autofree char *dir = path_dir(path);
	bool known = dir && parent && *parent && strcmp(dir, *parent) == 0;

	*s = (struct sink) { .fd = -1, .held = BUF_INIT(SINK_HOLD) };
	if (!known && ensure_parents(path, dir, u, e) < 0)
		return -1;
	s->path = strdup(path);
	if (!s->path)
		return sink_fail(e, 500, "out of memory");
	/* In a bulk of new files most can be created at once. If the directory is gone meanwhile, it is made again. */
	if (!create(s, path) && known && (errno == ENOENT || errno == ENOTDIR) && ensure_parents(path, dir, u, e) < 0) {
		sink_discard(s);
		return -1;
	}
	if (parent) {
		free(*parent);
		*parent = take_ptr(&dir);
	}
	if ((!s->created && open_target(s, path, e) < 0) || give_away(s, u, e) < 0) {
		sink_discard(s);
		return -1;
	}
	return 0;
}

static void sink_close(struct sink *s)
{
	fd_close(take_fd(&s->fd));
	free(take_ptr(&s->path));
	buf_done(&s->held);
}

void sink_discard(struct sink *s)
{
	struct stat mine, there;

	if (s->fd >= 0 && s->created) {
		/* Only if the name still refers to the file that was created here. */
		if (fstat(s->fd, &mine) == 0 && lstat(s->path, &there) == 0 && mine.st_ino == there.st_ino &&
		    mine.st_dev == there.st_dev)
			(void)unlink(s->path);
	} else if (s->fd >= 0 && !s->holding) {
		(void)!ftruncate(s->fd, 0);
	}
	sink_close(s);
}

static int write_all(struct sink *s, struct str data, struct sink_error *e)
{
	int rc = fd_write_all(s->fd, data.p, data.n);

	if (rc == 0)
		return 0;
	sink_discard(s);
	if (is_full(-rc))
		return sink_fail(e, 507, "not enough disk space available");
	return sink_fail(e, 500, "error writing file: %s", text_errno(-rc));
}

/* btrfs writes a file that was truncated to nothing to disk when it is closed next, whoever closes it, and the closer
 * waits. So it is closed once while it is still empty; after that its pages are written like those of any file. */
static void close_while_empty(int fd)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fd_close(open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

/* Truncates the file: from here on the old content is gone. */
static int let_go(struct sink *s, struct sink_error *e)
{
	s->holding = false;
	if (ftruncate(s->fd, 0) < 0 && errno != EINVAL && errno != EPERM) { /* files of /proc have no length */
		int no = errno;

		sink_discard(s);
		return sink_fail(e, is_full(no) ? 507 : 500, "error writing file: %s", text_errno(no));
	}
	if (!s->durable)
		close_while_empty(s->fd);
	return s->held.n ? write_all(s, buf_view(&s->held), e) : 0;
}

int sink_write(struct sink *s, struct str data, struct sink_error *e)
{
	if (s->holding && s->held.max - s->held.n >= data.n) {
		buf_str(&s->held, data);
		if (!s->held.bad)
			return 0;
		sink_discard(s);
		return sink_fail(e, 500, "out of memory");
	}
	if (s->holding && let_go(s, e) < 0)
		return -1;
	return write_all(s, data, e);
}

int sink_finish(struct sink *s, const json_t *meta, struct sink_error *e)
{
	int rc;

	if (s->holding && let_go(s, e) < 0)
		return -1;
	rc = s->created && json_object_size(meta) == 0 ? 0 : meta_write(s->fd, meta); /* a new file has none */
	if (rc < 0 && rc != -EOPNOTSUPP && rc != -ENOTSUP && rc != -EPERM) {
		sink_discard(s);
		if (is_full(-rc))
			return sink_fail(e, 507, "not enough space for file metadata: %s", text_errno(-rc));
		return sink_fail(e, 500, "error writing file metadata: %s", text_errno(-rc));
	}
	if (s->durable && fsync(s->fd) < 0) {
		rc = errno;
		sink_discard(s);
		return sink_fail(e, is_full(rc) ? 507 : 500, "error writing file to disk: %s", text_errno(rc));
	}
	sink_close(s);
	return 0;
}
