/* SPDX-License-Identifier: Apache-2.0 */
/* build_copy: COPY: copies the parts of an archive that the step names to their destination.
 *
 * A file goes to the exact path, or into a directory if the path ends with '/' or is a directory. Of a directory,
 * the contents go into the destination: existing directories are merged, files are replaced. As in Docker, links
 * to directories at the destination are followed (usrmerge) and links to files are replaced. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mode.h"
#include "base/str.h"
#include "init/build/build.h"

#define DEPTH_MAX 200

struct copying {
	struct owner owner;
	const char *mode; /* as for chmod(1); "": unchanged */
	struct err *e;
};

void build_pattern_dir(const char *pattern, char *ret, size_t size)
{
	size_t n = strcspn(pattern, "*?[{");

	if (pattern[n]) {
		while (n > 0 && pattern[n - 1] != '/')
			n--;
	}
	while (n > 0 && pattern[n - 1] == '/')
		n--;
	(void)str_copy(ret, size, n > 0 ? (struct str) { pattern, n } : STR_LIT("."));
}

/* Calls fn for each entry of the directory; owns fd. */
static int each(int fd, int (*fn)(struct copying *c, int dir, const char *name, int to, unsigned depth),
    struct copying *c, int to, unsigned depth)
{
	DIR *d = fdopendir(fd);
	struct dirent *en;
	int r = 0;

	if (!d) {
		fd_close(fd);
		return err_sys(c->e, "read a directory");
	}
	while (r == 0 && (en = readdir(d))) {
		if (strcmp(en->d_name, ".") != 0 && strcmp(en->d_name, "..") != 0)
			r = fn(c, dirfd(d), en->d_name, to, depth + 1);
	}
	(void)closedir(d);
	return r;
}

/* Sets owner and mode of the entry and everything below it. */
static int dress(struct copying *c, int dir, const char *name, int to, unsigned depth)
{
	struct stat st;

	if (depth > DEPTH_MAX)
		return err_set(c->e, ELOOP, "directories are nested more than %d deep", DEPTH_MAX);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    fchownat(dir, name, c->owner.uid, c->owner.gid, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(c->e, "give '%.100s' to its owner", name);
	/* chown clears the setuid bits, so the mode is set after it. */
	mode_t mode = st.st_mode & 07777;

	if (*c->mode)
		(void)mode_change(c->mode, mode, S_ISDIR(st.st_mode), &mode);
	if (!S_ISLNK(st.st_mode) && fchmodat(dir, name, mode, 0) < 0)
		return err_sys(c->e, "set the mode of '%.100s'", name);
	if (!S_ISDIR(st.st_mode))
		return 0;
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? err_sys(c->e, "open '%.100s'", name) : each(fd, dress, c, to, depth);
}

static int merge(struct copying *c, int dir, const char *name, int to, unsigned depth)
{
	struct stat from, at;

	if (fstatat(dir, name, &from, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(c->e, "look at '%.100s'", name);
	bool is_there = fstatat(to, name, &at, S_ISDIR(from.st_mode) ? 0 : AT_SYMLINK_NOFOLLOW) == 0;

	if (!S_ISDIR(from.st_mode) || !is_there)
		return renameat(dir, name, to, name) < 0 ? err_sys(c->e, "put '%.100s' in its place", name) : 0;
	if (!S_ISDIR(at.st_mode))
		return err_set(c->e, ENOTDIR, "'%.100s' is not a directory at the destination", name);
	autoclose int into = openat(to, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (into < 0 || fd < 0) {
		fd_close(fd);
		return err_sys(c->e, "open '%.100s'", name);
	}
	return each(fd, merge, c, into, depth);
}

static int remove_tree(struct copying *c, int dir, const char *name, int to, unsigned depth)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && depth <= DEPTH_MAX)
		(void)each(fd, remove_tree, c, to, depth);
	(void)unlinkat(dir, name, fd >= 0 ? AT_REMOVEDIR : 0);
	return 0;
}

/* Finds "a/b" below fd, where no component may be a link: the directory that holds it, and its last component. */
static int find_source(int fd, const char *path, int *ret_dir, char last[NAME_MAX + 1], struct err *e)
{
	autoclose int at = dup(fd);
	struct str rest = str_of(path);

	(void)str_copy(last, NAME_MAX + 1, STR_LIT("."));
	while (rest.p && at >= 0) {
		struct str part = str_cut(&rest, '/');

		if (part.n == 0 || str_is(part, "."))
			continue;
		if (strcmp(last, ".") != 0) {
			int next = openat(at, last, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

			if (next < 0)
				return err_set(e, ENOENT, "source path does not exist: %.150s", path);
			close(at);
			at = next;
		}
		if (!str_copy(last, NAME_MAX + 1, part))
			return err_set(e, ENAMETOOLONG, "source path is too long");
	}
	*ret_dir = take_fd(&at);
	return 0;
}

struct place {
	char dir[PATH_MAX], name[NAME_MAX + 1];
}; /* name "": the name of the source */

/* The destination of a file. */
static int find_place(const struct copy_args *a, struct place *ret, struct err *e)
{
	size_t n = strlen(a->dest);
	char path[PATH_MAX];
	struct stat st;
	bool is_dir = n == 0 || a->dest[n - 1] == '/' || strcmp(a->dest, ".") == 0 ||
	    (n > 1 && strcmp(a->dest + n - 2, "/.") == 0);

	if (snprintf(path, sizeof path, "%s%s%s", a->dest[0] == '/' ? "" : a->cwd, a->dest[0] == '/' ? "" : "/",
		a->dest) >= (int)sizeof path)
		return err_set(e, ENAMETOOLONG, "destination path is too long");
	for (n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
		path[n - 1] = '\0';
	is_dir = is_dir || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
	char *slash = strrchr(path, '/');

	(void)str_copy(ret->name, sizeof ret->name, is_dir ? STR_NULL : str_of(slash + 1));
	if (!is_dir)
		*(slash == path ? slash + 1 : slash) = '\0';
	(void)str_copy(ret->dir, sizeof ret->dir, str_of(path));
	return 0;
}

static int put_file(struct copying *c, const struct copy_args *a, int dir, const char *name)
{
	struct place p;

	if (find_place(a, &p, c->e) < 0 || build_mkdirs(p.dir, &c->owner, c->e) < 0)
		return -c->e->no;
	autoclose int to = open(p.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (to < 0 || renameat(dir, name, to, *p.name ? p.name : name) < 0)
		return err_sys(c->e, "put '%.100s' into '%.100s'", name, p.dir);
	return 0;
}

static int put_dir(struct copying *c, const struct copy_args *a, int dir, const char *name)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof path, "%s%s%s", a->dest[0] == '/' ? "" : a->cwd, a->dest[0] == '/' ? "" : "/",
		a->dest) >= (int)sizeof path)
		return err_set(c->e, ENAMETOOLONG, "destination path is too long");
	for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
		path[n - 1] = '\0';
	if (build_mkdirs(path, &c->owner, c->e) < 0)
		return -c->e->no;
	autoclose int to = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (to < 0 || fd < 0) {
		fd_close(fd);
		return err_sys(c->e, "open '%.100s'", path);
	}
	return each(fd, merge, c, to, 0);
}

static int copy_from(const struct copy_args *a, struct copying *c, int tmp_fd)
{
	char source[PATH_MAX], last[NAME_MAX + 1];
	autoclose int dir = -1;
	struct stat st;

	if (build_unpack(a->archive, tmp_fd, c->e) < 0)
		return -c->e->no;
	build_pattern_dir(a->source, source, sizeof source);
	if (find_source(tmp_fd, source, &dir, last, c->e) < 0)
		return -c->e->no;
	if (fstatat(dir, last, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_set(c->e, ENOENT, "source path does not exist: %.150s", a->source);
	if (dress(c, dir, last, -1, 0) < 0)
		return -c->e->no;
	return S_ISDIR(st.st_mode) ? put_dir(c, a, dir, last) : put_file(c, a, dir, last);
}

int build_copy(const struct copy_args *a, struct err *e)
{
	struct copying c = { .mode = a->mode, .e = e };
	char tmp[] = "/.atoll-build-XXXXXX";
	mode_t any;

	if (build_owner(a->owner, &c.owner, e) < 0)
		return -e->no;
	if (*a->mode && mode_change(a->mode, 0, false, &any) < 0)
		return err_set(e, EINVAL, "'%.40s' is not a mode as chmod takes it", a->mode);
	if (!mkdtemp(tmp))
		return err_sys(e, "make a directory to unpack in");
	autoclose int fd = open(tmp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = fd < 0 ? err_sys(e, "open '%s'", tmp) : copy_from(a, &c, fd);
	struct err ignored = ERR_INIT;
	struct copying rest = { .e = &ignored };

	(void)remove_tree(&rest, AT_FDCWD, tmp, -1, 0);
	return r;
}
