/* SPDX-License-Identifier: Apache-2.0 */
/* watcher: reports changes in a directory, or in a whole tree, as events of the API. */
#include "init/files/watcher.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "init/files/dirs.h"
#include "init/init.h"
#include "loop/loop.h"

#define DIRS_MAX 16384  /* directories of one tree */
#define SETTLE_READS 64 /* of 16 KiB: a program may create events faster than they are read */
#define MASK \
	(IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_MODIFY | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | \
	    IN_ONLYDIR | IN_EXCL_UNLINK)

struct dir {
	int wd;
	char *rel; /* "" for the root */
};

struct watcher {
	struct init *in;
	const struct watcher_ops *ops;
	void *user;
	bool recursive, dead;
	char *path;
	int fd;
	struct watch *watch;
	struct dir *dirs; /* sorted by wd: the kernel counts up */
	size_t n, cap;
};

static struct dir *find_dir(struct watcher *w, int wd)
{
	size_t lo = 0, hi = w->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (w->dirs[mid].wd < wd)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < w->n && w->dirs[lo].wd == wd ? &w->dirs[lo] : NULL;
}

static void drop_dir(struct watcher *w, struct dir *d)
{
	size_t i = (size_t)(d - w->dirs);

	free(d->rel);
	memmove(d, d + 1, (w->n - i - 1) * sizeof(*d));
	w->n--;
}

static char *full_path(const struct watcher *w, const char *rel)
{
	return rel[0] ? str_fmt("%s/%s", w->path, rel) : strdup(w->path);
}

/* Watches one directory. It is no error if the path has vanished or is not a directory. */
static int add_dir(struct watcher *w, const char *rel)
{
	autofree char *path = full_path(w, rel), *copy = strdup(rel);
	struct dir *d;
	int wd;

	if (!path || !copy)
		return -ENOMEM;
	if (w->n >= DIRS_MAX)
		return -ENOSPC;
	wd = inotify_add_watch(w->fd, path, MASK | (rel[0] ? IN_DONT_FOLLOW : 0));
	if (wd < 0)
		return rel[0] && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) ? 0 : -errno;
	d = find_dir(w, wd);
	if (d) { /* the same directory under a new name */
		free(d->rel);
		d->rel = take_ptr(&copy);
		return 0;
	}
	if (w->n == w->cap) {
		size_t cap = w->cap ? w->cap * 2 : 8;
		struct dir *more = realloc(w->dirs, cap * sizeof(*more));

		if (!more)
			return -ENOMEM;
		w->dirs = more;
		w->cap = cap;
	}
	w->dirs[w->n++] = (struct dir) { wd, take_ptr(&copy) };
	return 0;
}

static void emit(struct watcher *w, const char *type, const char *rel)
{
	autofree char *path = full_path(w, rel);

	if (path && !w->dead)
		w->ops->on_event(w->user, type, rel[0] ? rel : ".", path);
}

struct tree {
	struct watcher *w;
	const char *below;
	bool tell;
};

static int tree_one(void *user, const char *rel)
{
	struct tree *t = user;
	autofree char *name = t->below[0] ? str_fmt("%s/%s", t->below, rel) : strdup(rel);
	autofree char *path = name ? full_path(t->w, name) : NULL;
	struct stat st;

	if (!path)
		return -ENOMEM;
	if (t->tell)
		emit(t->w, "EVENT_TYPE_CREATE", name);
	if (t->w->dead || lstat(path, &st) < 0)
		return 0;
	if (t->tell && S_ISREG(st.st_mode) && st.st_size > 0)
		emit(t->w, "EVENT_TYPE_WRITE", name);
	return S_ISDIR(st.st_mode) && !t->w->dead ? add_dir(t->w, name) : 0;
}

/* Watches rel and all directories below it. With tell, its contents are reported as created. */
static int add_tree(struct watcher *w, const char *rel, bool tell)
{
	autofree char *path = full_path(w, rel);
	struct tree t = { w, rel, tell };
	int rc = path ? add_dir(w, rel) : -ENOMEM;

	if (rc < 0 || !w->recursive)
		return rc;
	rc = dirs_walk(path, UINT32_MAX, tree_one, &t);
	return rel[0] && (rc == -ENOENT || rc == -ENOTDIR) ? 0 : rc;
}

static bool is_below(const char *rel, const char *top)
{
	size_t n = strlen(top);

	return strncmp(rel, top, n) == 0 && (rel[n] == '/' || rel[n] == '\0');
}

/* A directory was moved away: its watches follow the inode and would report events under the old name. */
static void forget_tree(struct watcher *w, const char *rel)
{
	for (size_t i = w->n; i-- > 0;) {
		if (!w->dirs[i].rel[0] || !is_below(w->dirs[i].rel, rel))
			continue;
		(void)inotify_rm_watch(w->fd, w->dirs[i].wd);
		drop_dir(w, &w->dirs[i]);
	}
}

static void fail(struct watcher *w, const char *why)
{
	if (w->dead)
		return;
	watcher_pause(w, true);
	w->ops->on_error(w->user, why);
}

static void on_dir_event(struct watcher *w, uint32_t mask, const char *rel)
{
	if (!w->recursive || w->dead)
		return;
	if (mask & IN_MOVED_FROM)
		forget_tree(w, rel);
	else if ((mask & (IN_CREATE | IN_MOVED_TO)) && add_tree(w, rel, mask & IN_CREATE) < 0)
		fail(w, "cannot watch any more directories");
}

static void on_one(struct watcher *w, const struct inotify_event *ev)
{
	static const struct {
		uint32_t mask;
		const char *type;
	} kinds[] = {
		{ IN_CREATE | IN_MOVED_TO, "EVENT_TYPE_CREATE" },
		{ IN_MOVED_FROM | IN_MOVE_SELF, "EVENT_TYPE_RENAME" },
		{ IN_ATTRIB, "EVENT_TYPE_CHMOD" },
		{ IN_MODIFY, "EVENT_TYPE_WRITE" },
		{ IN_DELETE | IN_DELETE_SELF, "EVENT_TYPE_REMOVE" },
	};
	struct dir *d = find_dir(w, ev->wd);
	autofree char *rel = NULL;

	if (ev->mask & IN_Q_OVERFLOW) {
		fail(w, "fsnotify: queue or buffer overflow");
		return;
	}
	if (!d)
		return;
	if (ev->mask & IN_IGNORED) {
		drop_dir(w, d);
		return;
	}
	if (!ev->len && d->rel[0])
		return; /* of a subdirectory: its parent reports the same */
	rel = !ev->len ? strdup("") : d->rel[0] ? str_fmt("%s/%s", d->rel, ev->name) : strdup(ev->name);
	if (!rel)
		return;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (ev->mask & kinds[i].mask)
			emit(w, kinds[i].type, rel);
	if ((ev->mask & IN_ISDIR) && ev->len)
		on_dir_event(w, ev->mask, rel);
}

/* Handles one buffer of events; false when none are left. */
static bool read_events(struct watcher *w)
{
	_Alignas(struct inotify_event) char data[16 * 1024];
	ssize_t n = read(w->fd, data, sizeof(data));

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		fail(w, "cannot read events");
	for (ssize_t at = 0; at < n && !w->dead;) {
		const struct inotify_event *ev = (const struct inotify_event *)(data + at);

		on_one(w, ev);
		at += (ssize_t)(sizeof(*ev) + ev->len);
	}
	if (n > 0 && !w->dead && w->ops->on_batch)
		w->ops->on_batch(w->user);
	return n > 0 && !w->dead;
}

static void on_readable(void *user, int events)
{
	(void)events;
	(void)read_events(user);
}

void watcher_settle(struct watcher *w)
{
	for (int i = 0; i < SETTLE_READS && read_events(w); i++)
		;
}

void watcher_pause(struct watcher *w, bool on)
{
	if (w->watch)
		watch_set(w->watch, on ? 0 : WATCH_IN);
}

static void free_later(void *p)
{
	struct watcher *w = p;

	while (w->n)
		free(w->dirs[--w->n].rel);
	free(w->dirs);
	free(w->path);
	fd_close(w->fd);
	free(w);
}

void watcher_free(struct watcher *w)
{
	if (!w || w->dead)
		return;
	w->dead = true;
	watch_free(take_ptr(&w->watch));
	w->in->watchers.n_open--;
	loop_defer(w->in->loop, free_later, w);
}

int watcher_new(struct init *in, const char *path, bool recursive, const struct watcher_ops *ops, void *user,
    struct watcher **ret)
{
	struct watcher *w;
	int rc = -ENOMEM;

	if (in->watchers.n_open >= WATCHERS_MAX)
		return -EUSERS;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	*w = (struct watcher) { .in = in, .ops = ops, .user = user, .recursive = recursive, .fd = -1 };
	in->watchers.n_open++;
	w->path = strdup(path);
	w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (w->fd < 0)
		rc = -errno;
	else if (w->path)
		rc = add_tree(w, "", false);
	if (rc == 0) {
		w->watch = watch_new(in->loop, w->fd, WATCH_IN, on_readable, w);
		rc = w->watch ? 0 : -ENOMEM;
	}
	if (rc < 0) {
		watcher_free(w);
		return rc;
	}
	*ret = w;
	return 0;
}
