/* SPDX-License-Identifier: Apache-2.0 */
/* oci/layer_walk: finds the directory of a name, and removes what a whiteout names. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "oci/layer_impl.h"

int layer_path_parse(const char *name, struct layer_path *ret, struct err *e)
{
	ret->n = 0;
	if (name[0] == '/')
		return err_set(e, EBADMSG, "'%.80s' is an absolute name", name);
	if (!str_copy(ret->text, sizeof ret->text, str_of(name)))
		return err_set(e, EBADMSG, "a name is too long");
	for (char *p = ret->text, *next; p; p = next) {
		next = strchr(p, '/');
		if (next)
			*next++ = '\0';
		if (!*p || strcmp(p, ".") == 0)
			continue;
		if (strcmp(p, "..") == 0)
			return err_set(e, EBADMSG, "'%.80s' leads out of the image by '..'", name);
		if (strlen(p) > 255)
			return err_set(e, EBADMSG, "'%.80s…' has a part of more than 255 bytes", name);
		if (ret->n == LAYER_DEPTH_MAX)
			return err_set(e, EBADMSG, "'%.80s…' is deeper than %d directories", name, LAYER_DEPTH_MAX);
		ret->part[ret->n++] = p;
	}
	return 0;
}

void layer_forget_parent(struct layer *l)
{
	fd_close(l->parent_fd);
	l->parent_fd = -1;
	buf_clear(&l->parent_path);
}

/* Debian and others have merged /bin into /usr/bin and so on, and /var/run into /run. A layer made by a tool
 * without the tree may still use the old names. These few links, if they have their usual target, are resolved in
 * the name itself. No other link is followed. */
static void expand_merged(struct layer *l, struct layer_path *p)
{
	static const struct {
		const char *name, *sub, *to[2], *parts[2];
		size_t n;
	} merged[] = {
		{ "bin", NULL, { "usr/bin", "/usr/bin" }, { "usr", "bin" }, 1 },
		{ "sbin", NULL, { "usr/sbin", "/usr/sbin" }, { "usr", "sbin" }, 1 },
		{ "lib", NULL, { "usr/lib", "/usr/lib" }, { "usr", "lib" }, 1 },
		{ "lib32", NULL, { "usr/lib32", "/usr/lib32" }, { "usr", "lib32" }, 1 },
		{ "lib64", NULL, { "usr/lib64", "/usr/lib64" }, { "usr", "lib64" }, 1 },
		{ "libx32", NULL, { "usr/libx32", "/usr/libx32" }, { "usr", "libx32" }, 1 },
		{ "var", "run", { "/run", "../run" }, { "run", NULL }, 2 },
		{ "var", "lock", { "/run/lock", "../run/lock" }, { "run", "lock" }, 2 },
	};
	char path[32], to[32];

	for (size_t i = 0; i < ARRAY_LEN(merged); i++) {
		if (p->n <= merged[i].n || strcmp(p->part[0], merged[i].name) != 0 ||
		    (merged[i].sub && strcmp(p->part[1], merged[i].sub) != 0))
			continue;
		(void)snprintf(path, sizeof path, "%s%s%s", merged[i].name, merged[i].sub ? "/" : "",
		    merged[i].sub ? merged[i].sub : "");
		/* "var" and "var/run" are read without following links: if var is a link, the walk refuses it. */
		ssize_t n = readlinkat(l->root, path, to, sizeof to - 1);
		if (n < 0)
			return;
		to[n] = '\0';
		if (strcmp(to, merged[i].to[0]) != 0 && strcmp(to, merged[i].to[1]) != 0)
			return;
		size_t has = merged[i].parts[1] ? 2 : 1;

		memmove(p->part + has, p->part + merged[i].n, (p->n - merged[i].n) * sizeof *p->part);
		p->n = p->n - merged[i].n + has;
		for (size_t k = 0; k < has; k++)
			p->part[k] = merged[i].parts[k];
		return;
	}
}

static int make_dir(struct layer *l, int dirfd, const char *name, struct err *e)
{
	if (l->totals->entries >= l->totals->max_entries)
		return err_set(e, EFBIG, "the image has more than %llu files",
		    (unsigned long long)l->totals->max_entries);
	l->totals->entries++;
	if (mkdirat(dirfd, name, 0755) < 0)
		return err_sys(e, "make the directory '%.80s'", name);
	return 0;
}

/* Descends one level. Returns an O_PATH fd of a directory, never of a link's target. */
static int step_down(struct layer *l, int dirfd, const char *name, bool make, int *ret_fd, struct err *e)
{
	const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	struct stat st;
	autoclose int fd = openat(dirfd, name, flags);

	if (fd < 0 && errno == ENOENT && make) {
		if (make_dir(l, dirfd, name, e) < 0)
			return -e->no;
		fd = openat(dirfd, name, flags);
	}
	if (fd < 0 && errno == ENOENT)
		return err_set(e, ENOENT, "no directory '%.80s'", name);
	if (fd < 0 && errno == ENOTDIR) {
		bool link = fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);

		return err_set(e, EBADMSG,
		    link ? "it leads through the symbolic link '%.80s'" : "'%.80s' on its way is not a directory",
		    name);
	}
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open the directory '%.80s'", name);
	if (inoset_add(&l->mine, st.st_ino) < 0)
		return err_set(e, ENOMEM, "out of memory");
	*ret_fd = take_fd(&fd);
	return 0;
}

int layer_walk(struct layer *l, struct layer_path *p, bool make, int *ret_fd, struct err *e)
{
	autobuf struct buf path = BUF_INIT(TAPE_NAME_MAX + 64);

	expand_merged(l, p);
	for (size_t i = 0; i + 1 < p->n; i++) {
		buf_ch(&path, '/');
		buf_z(&path, p->part[i]);
	}
	if (path.bad)
		return err_set(e, ENAMETOOLONG, "a name is too long");
	if (l->parent_fd >= 0 && str_eq(buf_view(&path), buf_view(&l->parent_path))) {
		*ret_fd = l->parent_fd;
		return 0;
	}
	autoclose int fd = openat(l->root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "open the root of the image");
	for (size_t i = 0; i + 1 < p->n; i++) {
		int below = -1;

		if (step_down(l, fd, p->part[i], make, &below, e) < 0)
			return -e->no;
		fd_close(fd);
		fd = below;
	}
	layer_forget_parent(l);
	buf_str(&l->parent_path, buf_view(&path));
	if (l->parent_path.bad)
		return err_set(e, ENOMEM, "out of memory");
	*ret_fd = l->parent_fd = take_fd(&fd);
	return 0;
}

/* --- removal --- */

static int remove_below(struct layer *l, int dirfd, const char *name, bool all, unsigned depth, struct err *e);

/* Removes everything in a directory, or only what lower layers have put there. */
static int empty_dir(struct layer *l, int dirfd, bool all, unsigned depth, struct err *e)
{
	int own = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	DIR *d = own < 0 ? NULL : fdopendir(own);

	if (!d) {
		fd_close(own);
		return err_sys(e, "list a directory of the image");
	}
	for (struct dirent *de; rc == 0 && (de = readdir(d));) {
		if (strcmp(de->d_name, ".") != 0 && strcmp(de->d_name, "..") != 0)
			rc = remove_below(l, own, de->d_name, all, depth + 1, e);
	}
	(void)closedir(d);
	return rc;
}

static int remove_below(struct layer *l, int dirfd, const char *name, bool all, unsigned depth, struct err *e)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_sys(e, "look at '%.80s'", name);
	bool keep = !all && inoset_has(&l->mine, st.st_ino);

	if (S_ISDIR(st.st_mode)) {
		if (depth > LAYER_DEPTH_MAX + 2)
			return err_set(e, ELOOP, "a tree to be removed is too deep");
		autoclose int fd = openat(dirfd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			return err_sys(e, "open '%.80s'", name);
		if (empty_dir(l, fd, !keep, depth, e) < 0)
			return -e->no;
	}
	if (keep)
		return 0;
	/* The inode number may be reused for another file. A file with more names keeps its number. */
	if (S_ISDIR(st.st_mode) || st.st_nlink == 1)
		inoset_drop(&l->mine, st.st_ino);
	if (unlinkat(dirfd, name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0) < 0)
		return err_sys(e, "remove '%.80s'", name);
	return 0;
}

int layer_remove(struct layer *l, int dirfd, const char *name, struct err *e)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) && l->parent_fd != dirfd)
		layer_forget_parent(l);
	return remove_below(l, dirfd, name, true, 0, e);
}

int layer_clear_lower(struct layer *l, int dirfd, unsigned depth, struct err *e)
{
	return empty_dir(l, dirfd, false, depth, e);
}
