/* SPDX-License-Identifier: Apache-2.0 */
/* build_unpack: unpacks an archive below a directory.
 *
 * The author of the archive controls its names, so no link is followed: each component of a path is opened
 * separately and must be a directory, not a link to one. "..", absolute names, devices and pipes are refused. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "base/tar.h"
#include "http/gunzip.h"
#include "init/build/build.h"

#define CHUNK (256 * 1024)

struct unpack {
	int root_fd;
	int file_fd; /* being written, or -1 */
	char file[TAR_NAME_MAX];
	struct tar_reader *tar;
	struct err *e;
};

/* Opens the directory that holds `name`, creating it if needed; *ret_last: the last component. */
static int open_parent(struct unpack *u, const char *name, int *ret_fd, const char **ret_last)
{
	autoclose int fd = dup(u->root_fd);
	const char *p = name;

	if (fd < 0)
		return err_sys(u->e, "open '%s'", name);
	for (;;) {
		while (*p == '/' || (p[0] == '.' && (p[1] == '/' || p[1] == '\0')))
			p++;
		const char *slash = strchr(p, '/');

		if (!slash || strspn(slash, "/") == strlen(slash))
			break;
		autofree char *part = str_dup((struct str) { p, (size_t)(slash - p) });

		if (!part || (mkdirat(fd, part, 0755) < 0 && errno != EEXIST))
			return err_sys(u->e, "make the directory of '%s'", name);
		int next = openat(fd, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (next < 0)
			return err_set(u->e, errno,
			    "'%.100s' of the archive leads through '%.40s', which is no directory", name, part);
		close(fd);
		fd = next;
		p = slash + 1;
	}
	*ret_last = p;
	*ret_fd = take_fd(&fd);
	return 0;
}

static int make_dir(int parent, const char *last, unsigned mode)
{
	if (mkdirat(parent, last, 0755) < 0 && errno != EEXIST)
		return -1;
	autoclose int fd = openat(parent, last, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -1 : fchmod(fd, mode & 07777);
}

/* Makes a hard link, only to a file that the archive has already unpacked. */
static int make_link(struct unpack *u, const char *target, int parent, const char *last)
{
	autoclose int from = -1;
	const char *name;

	if (!tar_name_ok(target) || open_parent(u, target, &from, &name) < 0)
		return err_set(u->e, EINVAL, "'%.60s' of the archive is a link to '%.80s', which is not in it", last,
		    target);
	return linkat(from, name, parent, last, 0);
}

static int on_entry(void *user, const struct tar_entry *en)
{
	struct unpack *u = user;
	autoclose int parent = -1;
	autofree char *last = NULL;
	const char *name;
	int r = 0;

	if (!tar_name_ok(en->name))
		return err_set(u->e, EINVAL, "'%.150s' of the archive leads out of it", en->name);
	if (open_parent(u, en->name, &parent, &name) < 0)
		return -u->e->no;
	last = str_dup((struct str) { name, strcspn(name, "/") });
	if (!last)
		return err_set(u->e, ENOMEM, "out of memory");
	if (!*last)
		return 0; /* the root itself */
	if (en->type != TAR_DIR)
		(void)unlinkat(parent, last, 0);
	switch (en->type) {
	case TAR_DIR:
		r = make_dir(parent, last, en->mode);
		break;
	case TAR_SYMLINK:
		r = symlinkat(en->target, parent, last);
		break;
	case TAR_HARDLINK:
		r = make_link(u, en->target, parent, last);
		break;
	case TAR_FILE:
		(void)str_copy(u->file, sizeof u->file, str_of(en->name));
		u->file_fd = openat(parent, last, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    en->mode & 07777);
		r = u->file_fd < 0 || fchmod(u->file_fd, en->mode & 07777) < 0 ? -1 : 0;
		break;
	case TAR_OTHER:
		return err_set(u->e, EINVAL, "'%.150s' of the archive is neither a file, a directory nor a link",
		    en->name);
	}
	if (r < 0 && !u->e->no)
		return err_sys(u->e, "unpack '%.150s'", en->name);
	return r < 0 ? -u->e->no : 0;
}

static int on_data(void *user, const void *p, size_t n)
{
	struct unpack *u = user;
	int r = fd_write_all(u->file_fd, p, n);

	return r < 0 ? err_set(u->e, -r, "write '%.100s': %s", u->file, strerror(-r)) : 0;
}

static int on_end(void *user)
{
	struct unpack *u = user;

	fd_close(take_fd(&u->file_fd));
	return 0;
}

static int take_plain(void *user, struct str data)
{
	struct unpack *u = user;

	return tar_reader_put(u->tar, data.p, data.n);
}

static int unpack_all(struct unpack *u, int in, struct gunzip *gz, char *room)
{
	bool first = true, zipped = false;
	ssize_t n;
	int r = 0;

	while (r == 0 && (n = read(in, room, CHUNK)) > 0) {
		struct str data = { room, (size_t)n };

		if (first)
			zipped = n >= 2 && (unsigned char)room[0] == 0x1f && (unsigned char)room[1] == 0x8b;
		first = false;
		r = zipped ? gunzip_feed(gz, data, take_plain, u) : take_plain(u, data);
	}
	if (u->e->no)
		return -u->e->no;
	if (r < 0 || n < 0 || (zipped && gunzip_end(gz) < 0) || !tar_reader_done(u->tar))
		return err_set(u->e, EBADMSG, "the archive is damaged or cut short");
	return 0;
}

int build_unpack(const char *archive, int root_fd, struct err *e)
{
	static const struct tar_reader_ops ops = { .on_entry = on_entry, .on_data = on_data, .on_end = on_end };
	struct unpack u = { .root_fd = root_fd, .file_fd = -1, .e = e };
	autoclose int in = open(archive, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	autofree char *room = malloc(CHUNK);
	struct gunzip *gz = gunzip_new();
	int r;

	if (in < 0)
		return err_sys(e, "open the archive");
	(void)unlink(archive);
	u.tar = tar_reader_new(&ops, &u);
	r = room && gz && u.tar ? unpack_all(&u, in, gz, room) : err_set(e, ENOMEM, "out of memory");
	fd_close(u.file_fd);
	tar_reader_free(u.tar);
	gunzip_free(gz);
	return r;
}
