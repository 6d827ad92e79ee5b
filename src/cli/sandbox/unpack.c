/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/unpack: extracts an archive from a sandbox to local files. */
#include "cli/sandbox/unpack.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/tar.h"
#include "cli/cli.h"
#include "cli/format.h"

#define SAID_MAX 10 /* messages about skipped entries */

struct unpack {
	struct tar_reader *tar;
	int root;
	int fd; /* the file being written, or -1 */
	int64_t mtime_s;
	size_t skipped;
	struct err *e; /* of the current call */
};

/* Cleans a name for messages, because the sandbox chooses it. */
static const char *clean(const char *name)
{
	static char text[200];
	struct buf b = BUF_INIT(sizeof(text) - 1);

	put_clean(&b, name);
	(void)str_copy(text, sizeof(text), buf_view(&b));
	buf_done(&b);
	return text;
}

static int skip(struct unpack *u, const char *name, const char *why)
{
	if (u->skipped++ < SAID_MAX)
		say("'%s' is skipped: %s", clean(name), why);
	return 0;
}

/* Opens the directory that contains `name`, and sets base to the last component. */
static int open_parent(struct unpack *u, const char *name, int *ret_fd, char base[NAME_MAX + 1])
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
	struct str all = str_of(name);
	char dir[TAR_NAME_MAX];

	while (all.n > 0 && all.p[all.n - 1] == '/')
		all.n--;
	const char *slash = memrchr(all.p, '/', all.n);
	struct str last = slash ? (struct str) { slash + 1, all.n - (size_t)(slash + 1 - all.p) } : all;
	struct str before = slash ? (struct str) { all.p, (size_t)(slash - all.p) } : STR_LIT(".");
	if (last.n == 0 || str_is(last, ".") || !str_copy(base, NAME_MAX + 1, last) ||
	    !str_copy(dir, sizeof(dir), before))
		return err_set(u->e, EBADMSG, "the archive contains an invalid name: '%s'", clean(name));
	int fd = (int)syscall(SYS_openat2, u->root, dir, &how, sizeof(how));
	if (fd < 0 && (errno == ELOOP || errno == EXDEV))
		return err_set(u->e, ELOOP, "write '%s': a symbolic link is in the way", clean(name));
	if (fd < 0)
		return err_sys(u->e, "write '%s'", clean(name));
	*ret_fd = fd;
	return 0;
}

static int make_dir(struct unpack *u, int parent, const char *base, const struct tar_entry *t)
{
	struct stat st;

	/* The owner must be able to write to it. */
	if (mkdirat(parent, base, t->mode | 0700) == 0)
		return 0;
	if (errno == EEXIST && fstatat(parent, base, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
		return 0;
	return err_sys(u->e, "create the directory '%s'", clean(t->name));
}

static int make_file(struct unpack *u, int parent, const char *base, const struct tar_entry *t)
{
	/* Always creates a new file: an existing one may be a link from an earlier copy and must not be followed. */
	if (unlinkat(parent, base, 0) < 0 && errno != ENOENT)
		return err_sys(u->e, "replace '%s'", clean(t->name));
	if (t->type == TAR_SYMLINK) {
		return symlinkat(t->target, parent, base) < 0 ? err_sys(u->e, "create the link '%s'", clean(t->name))
							      : 0;
	}
	u->fd = openat(parent, base, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, t->mode);
	u->mtime_s = t->mtime_s;
	return u->fd < 0 ? err_sys(u->e, "write '%s'", clean(t->name)) : 0;
}

/* Creates a hard link to a file extracted before. */
static int make_hardlink(struct unpack *u, int parent, const char *base, const struct tar_entry *t)
{
	char from[NAME_MAX + 1];
	autoclose int dir = -1;
	struct stat st;

	if (!tar_name_ok(t->target))
		return skip(u, t->name, "the link points outside the directory");
	if (open_parent(u, t->target, &dir, from) < 0)
		return -u->e->no;
	if (fstatat(dir, from, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return skip(u, t->name, "the link's target was not copied");
	if (unlinkat(parent, base, 0) < 0 && errno != ENOENT)
		return err_sys(u->e, "replace '%s'", clean(t->name));
	return linkat(dir, from, parent, base, 0) < 0 ? err_sys(u->e, "create the link '%s'", clean(t->name)) : 0;
}

static bool is_root(const char *name)
{
	return name[strspn(name, "./")] == '\0';
}

static int on_entry(void *user, const struct tar_entry *t)
{
	struct unpack *u = user;
	char base[NAME_MAX + 1];
	autoclose int parent = -1;

	if (!tar_name_ok(t->name))
		return err_set(u->e, EBADMSG, "the archive contains a name outside the directory: '%s'",
		    clean(t->name));
	if (t->type == TAR_DIR && is_root(t->name))
		return 0;
	if (t->type == TAR_OTHER)
		return skip(u, t->name, "not a file, directory or link");
	if (t->type == TAR_SYMLINK && !tar_link_inside(t->name, t->target))
		return skip(u, t->name, "the link points outside the directory");
	if (open_parent(u, t->name, &parent, base) < 0)
		return -u->e->no;
	switch (t->type) {
	case TAR_DIR:
		return make_dir(u, parent, base, t);
	case TAR_HARDLINK:
		return make_hardlink(u, parent, base, t);
	default:
		return make_file(u, parent, base, t);
	}
}

static int on_data(void *user, const void *p, size_t n)
{
	struct unpack *u = user;
	int rc = fd_write_all(u->fd, p, n);

	return rc < 0 ? err_set(u->e, -rc, "write a file: %s", strerrordesc_np(-rc)) : 0;
}

static int on_end(void *user)
{
	struct unpack *u = user;
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = u->mtime_s } };

	(void)futimens(u->fd, times);
	if (close(take_fd(&u->fd)) < 0)
		return err_sys(u->e, "write a file");
	return 0;
}

int unpack_new(const char *dir, struct unpack **ret, struct err *e)
{
	static const struct tar_reader_ops ops = { .on_entry = on_entry, .on_data = on_data, .on_end = on_end };
	struct unpack *u = calloc(1, sizeof(*u));

	if (!u)
		return err_set(e, ENOMEM, "out of memory");
	u->fd = -1;
	u->root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	u->tar = tar_reader_new(&ops, u);
	if (u->root < 0 || !u->tar) {
		(void)(u->root < 0 ? err_sys(e, "open '%s'", dir) : err_set(e, ENOMEM, "out of memory"));
		unpack_free(u);
		return -e->no;
	}
	*ret = u;
	return 0;
}

void unpack_free(struct unpack *u)
{
	if (!u)
		return;
	fd_close(u->fd);
	fd_close(u->root);
	tar_reader_free(u->tar);
	free(u);
}

int unpack_put(struct unpack *u, const void *p, size_t n, struct err *e)
{
	u->e = e;
	e->no = 0;
	int rc = tar_reader_put(u->tar, p, n);
	if (rc < 0 && e->no == 0)
		return err_set(e, -rc, "the sandbox did not send an archive");
	return rc;
}

bool unpack_done(const struct unpack *u)
{
	return tar_reader_done(u->tar);
}

size_t unpack_skipped(const struct unpack *u)
{
	return u->skipped;
}
