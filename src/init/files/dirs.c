/* SPDX-License-Identifier: Apache-2.0 */
/* dirs: creates the directories of a path, removes trees, and walks them. */
#include "init/files/dirs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "init/files/path.h"

#define DEPTH_MAX 128 /* directories open at a time; listings go no deeper */
#define AGAIN_MAX 10000
#define WALK_PATH_MAX (64 * 1024)

static int ensure_one(const char *path, uid_t uid, gid_t gid)
{
	struct stat st;

	if (stat(path, &st) == 0)
		return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
	if (errno != ENOENT)
		return -errno;
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return -errno;
	/* Also after EEXIST: whoever created it may not have changed its owner yet. */
	return chown(path, uid, gid) < 0 ? -errno : 0;
}

int dirs_ensure(const char *path, uid_t uid, gid_t gid, char **ret_at)
{
	autofree char *clean = path_clean(path);

	*ret_at = NULL;
	if (!clean)
		return -ENOMEM;
	for (size_t i = 1;; i++) {
		char c = clean[i];
		int rc;

		if (c != '/' && c != '\0')
			continue;
		clean[i] = '\0';
		rc = ensure_one(clean, uid, gid);
		if (rc < 0) {
			*ret_at = take_ptr(&clean);
			return rc;
		}
		clean[i] = c;
		if (c == '\0')
			return 0;
	}
}

/* Removing. */

struct level {
	DIR *dir;
	char *name; /* name of this directory in its parent */
};

struct remover {
	int top_fd; /* the directory that holds the path */
	char *top_name;
	unsigned n_moved, n_again;
	size_t n;
	struct level at[DEPTH_MAX]; /* being emptied, outermost first */
};

int remover_new(const char *path, struct remover **ret)
{
	struct remover *r = calloc(1, sizeof(*r));
	autofree char *dir = path_dir(path);
	struct str base = path_base(path);

	if (!r || !dir) {
		free(r);
		return -ENOMEM;
	}
	r->top_fd = -1;
	if (str_is(base, "/") || str_is(base, ".") || str_is(base, "..")) {
		remover_free(r);
		return -EINVAL;
	}
	/* With a trailing slash, "dir" would be the path itself. */
	if (path[strlen(path) - 1] == '/') {
		autofree char *clean = path_clean(path);

		free(dir);
		dir = clean ? path_dir(clean) : NULL;
	}
	r->top_name = str_dup(base);
	r->top_fd = dir ? open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (!r->top_name || r->top_fd < 0) {
		int no = r->top_name && dir ? errno : ENOMEM;

		remover_free(r);
		return -no;
	}
	*ret = r;
	return 0;
}

void remover_free(struct remover *r)
{
	if (!r)
		return;
	while (r->n--) {
		(void)closedir(r->at[r->n].dir);
		free(r->at[r->n].name);
	}
	fd_close(r->top_fd);
	free(r->top_name);
	free(r);
}

static int holder(const struct remover *r, size_t level)
{
	return level == 0 ? r->top_fd : dirfd(r->at[level - 1].dir);
}

/* The tree is too deep to keep one directory open per level: moves the directory into the outermost one, which is
 * read again at its end. */
static int move_up(struct remover *r, const char *name)
{
	char up[48];

	(void)snprintf(up, sizeof(up), ".atoll-removing-%u", r->n_moved++);
	return renameat(holder(r, r->n), name, dirfd(r->at[0].dir), up) < 0 && errno != ENOENT ? -errno : 0;
}

/* Unlinks name in the innermost level, or opens it as the next level. 0 or -errno. */
static int take_away(struct remover *r, const char *name)
{
	int at = holder(r, r->n), fd;
	DIR *dir;
	char *copy;

	if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	if (unlinkat(at, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	if (errno != ENOTEMPTY && errno != EEXIST)
		return -errno;
	if (r->n == DEPTH_MAX)
		return move_up(r, name);
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	copy = strdup(name);
	dir = copy ? fdopendir(fd) : NULL;
	if (!dir) {
		free(copy);
		fd_close(fd);
		return -ENOMEM;
	}
	r->at[r->n++] = (struct level) { dir, copy };
	return 0;
}

static int close_level(struct remover *r)
{
	struct level *l = &r->at[r->n - 1];
	int rc = unlinkat(holder(r, r->n - 1), l->name, AT_REMOVEDIR) < 0 && errno != ENOENT ? -errno : 0;

	/* An entry was added meanwhile, by move_up() or by a program inside. A program that keeps adding is
	 * retried AGAIN_MAX times only. */
	if ((rc == -ENOTEMPTY || rc == -EEXIST) && r->n_again++ < AGAIN_MAX) {
		rewinddir(l->dir);
		return 0;
	}
	r->n--;
	(void)closedir(l->dir);
	free(l->name);
	return rc;
}

int remover_step(struct remover *r, unsigned budget)
{
	int rc;

	if (r->n == 0) {
		rc = take_away(r, r->top_name);
		if (rc < 0 || r->n == 0)
			return rc;
	}
	for (; budget && r->n; budget--) {
		struct dirent *d = readdir(r->at[r->n - 1].dir);

		if (!d)
			rc = close_level(r);
		else if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		else
			rc = take_away(r, d->d_name);
		if (rc < 0)
			return rc;
	}
	return r->n ? 1 : 0;
}

/* Walking. */

struct walk {
	dirs_walk_fn *fn;
	void *user;
	struct buf rel; /* made NUL-terminated by buf_cstr() before it is passed on */
};

static int walk_level(struct walk *w, int fd, unsigned depth, unsigned level);

static int skip_dots(const struct dirent *d)
{
	return strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int walk_entry(struct walk *w, int fd, const struct dirent *d, unsigned depth, unsigned level)
{
	size_t before = w->rel.n;
	int rc;

	if (before)
		buf_ch(&w->rel, '/');
	buf_z(&w->rel, d->d_name);
	rc = buf_cstr(&w->rel) ? w->fn(w->user, w->rel.p) : -ENAMETOOLONG;
	if (rc == 0 && depth > 1 && (d->d_type == DT_DIR || d->d_type == DT_UNKNOWN)) {
		int sub = openat(fd, d->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (sub >= 0)
			rc = walk_level(w, sub, depth - 1, level + 1);
		else if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
			rc = -errno;
	}
	w->rel.n = before;
	return rc;
}

/* Owns fd. */
static int walk_level(struct walk *w, int fd, unsigned depth, unsigned level)
{
	struct dirent **names = NULL;
	int n = 0, rc = 0;

	if (level < DEPTH_MAX)
		n = scandirat(fd, ".", &names, skip_dots, by_bytes);
	if (n < 0)
		rc = -errno;
	for (int i = 0; i < n; i++) {
		if (rc == 0)
			rc = walk_entry(w, fd, names[i], depth, level);
		free(names[i]);
	}
	free(names);
	fd_close(fd);
	return rc == -ENOENT ? 0 : rc;
}

int dirs_walk(const char *root, unsigned depth, dirs_walk_fn *fn, void *user)
{
	struct walk w = { .fn = fn, .user = user, .rel = BUF_INIT(WALK_PATH_MAX) };
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;

	if (fd < 0)
		return -errno;
	rc = walk_level(&w, fd, depth, 0);
	buf_done(&w.rel);
	return rc;
}
