/* SPDX-License-Identifier: Apache-2.0 */
/* oci/layer: creates files of a tree from the entries of an archive. */
#include "oci/layer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "oci/layer_impl.h"

#define TIMES_MAX (64u << 20)

struct dir_time { /* header of each name in the list of times */
	int64_t s;
	uint32_t ns, n; /* n: length of the name, including the NUL */
};

static int on_entry(void *user, const struct tape_entry *en);
static int on_data(void *user, uint64_t at, const void *p, size_t n);
static int on_end(void *user);

static const struct tape_ops ops = { .on_entry = on_entry, .on_data = on_data, .on_end = on_end };

struct layer *layer_new(int root_fd, struct layer_totals *totals)
{
	struct layer *l = calloc(1, sizeof *l);

	if (!l)
		return NULL;
	*l = (struct layer) {
		.root = root_fd,
		.totals = totals,
		.parent_fd = -1,
		.file = -1,
		.times = BUF_INIT(TIMES_MAX),
		.parent_path = BUF_INIT(TAPE_NAME_MAX + 64),
	};
	l->tape = tape_new(&ops, l);
	if (!l->tape) {
		layer_free(l);
		return NULL;
	}
	return l;
}

void layer_free(struct layer *l)
{
	if (!l)
		return;
	fd_close(l->file);
	fd_close(l->parent_fd);
	tape_free(l->tape);
	inoset_done(&l->mine);
	buf_done(&l->times);
	buf_done(&l->parent_path);
	free(l);
}

/* --- owners, permissions, times, attributes --- */

static uid_t owner(struct layer *l, uint64_t id)
{
	if (id < LAYER_OWNERS)
		return (uid_t)id;
	l->totals->foreign_owners++;
	return LAYER_NOBODY;
}

static const struct timespec *times_of(const struct tape_entry *en, struct timespec ts[2])
{
	ts[0] = ts[1] = (struct timespec) { .tv_sec = en->mtime_s, .tv_nsec = en->mtime_ns };
	return ts;
}

/* Sets extended attributes of a file (fd) or directory; those of links have no effect. A file's capabilities are
 * set last, see finish_file(). */
static int set_xattrs(struct layer *l, int fd, const struct tape_entry *en, struct err *e)
{
	char name[256];

	l->has_caps = false;
	for (size_t i = 0; i < en->n_xattrs; i++) {
		const struct tape_xattr *x = &en->xattrs[i];

		if (!layer_xattr_ok(x)) {
			l->totals->attributes++;
		} else if (str_is(x->name, "security.capability")) {
			l->has_caps = x->value.n <= sizeof l->caps && en->type == TAPE_FILE;
			l->n_caps = x->value.n;
			if (l->has_caps)
				memcpy(l->caps, x->value.p, x->value.n);
		} else {
			(void)str_copy(name, sizeof name, x->name);
			if (fsetxattr(fd, name, x->value.p, x->value.n, 0) < 0 && errno != ENOTSUP)
				return err_sys(e, "set the attribute '%.80s'", name);
		}
	}
	return 0;
}

static int finish_file(struct layer *l, int fd, const struct tape_entry *en, struct err *e)
{
	struct timespec ts[2];
	uid_t uid = owner(l, en->uid), gid = owner(l, en->gid);

	if ((uid != 0 || gid != 0) && fchown(fd, uid, gid) < 0)
		return err_sys(e, "set the owner");
	if (fchmod(fd, en->mode) < 0) /* after the owner, because chown clears the set-uid bit */
		return err_sys(e, "set the permissions");
	if (l->has_caps && fsetxattr(fd, "security.capability", l->caps, l->n_caps, 0) < 0)
		return err_sys(e, "set capabilities");
	if (futimens(fd, times_of(en, ts)) < 0)
		return err_sys(e, "set the time");
	return 0;
}

static int finish_other(struct layer *l, int dirfd, const char *name, const struct tape_entry *en, struct err *e)
{
	struct timespec ts[2];

	if (fchownat(dirfd, name, owner(l, en->uid), owner(l, en->gid), AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "set the owner");
	/* not a link: it was checked, and no other process changes the tree */
	if (en->type != TAPE_SYMLINK && fchmodat(dirfd, name, en->mode, 0) < 0)
		return err_sys(e, "set the permissions");
	if (utimensat(dirfd, name, times_of(en, ts), AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "set the time");
	return 0;
}

/* --- entries --- */

static int note_mine(struct layer *l, int dirfd, const char *name, struct err *e)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "look at what was made");
	return inoset_add(&l->mine, st.st_ino) < 0 ? err_set(e, ENOMEM, "out of memory") : 0;
}

static int note_time(struct layer *l, const struct layer_path *p, const struct tape_entry *en, struct err *e)
{
	struct dir_time t = { .s = en->mtime_s, .ns = en->mtime_ns };

	for (size_t i = 0; i < p->n; i++)
		t.n += (uint32_t)strlen(p->part[i]) + 1;
	if (p->n == 0)
		t.n = 1;
	buf_put(&l->times, &t, sizeof t);
	for (size_t i = 0; i < p->n; i++) {
		buf_z(&l->times, p->part[i]);
		buf_ch(&l->times, i + 1 < p->n ? '/' : '\0');
	}
	if (p->n == 0)
		buf_ch(&l->times, '\0');
	return l->times.bad ? err_set(e, EFBIG, "the names of all directories of a layer are too long") : 0;
}

static int put_dir(struct layer *l, int dirfd, const char *name, const struct layer_path *p,
    const struct tape_entry *en, struct err *e)
{
	struct stat st;
	bool there = fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;

	if (there && !S_ISDIR(st.st_mode)) {
		if (layer_remove(l, dirfd, name, e) < 0)
			return -e->no;
		there = false;
	}
	if (!there && mkdirat(dirfd, name, 0700) < 0)
		return err_sys(e, "make the directory");
	if (en->n_xattrs > 0) {
		autoclose int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (fd < 0)
			return err_sys(e, "open the directory");
		if (set_xattrs(l, fd, en, e) < 0)
			return -e->no;
	}
	if (finish_other(l, dirfd, name, en, e) < 0 || note_mine(l, dirfd, name, e) < 0)
		return -e->no;
	return note_time(l, p, en, e);
}

static int put_file(struct layer *l, int dirfd, const char *name, const struct tape_entry *en, struct err *e)
{
	struct stat st;

	if (en->size > l->totals->max_bytes)
		return err_set(e, EFBIG, "it is larger than an image may be");
	l->file = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (l->file < 0 || fstat(l->file, &st) < 0)
		return err_sys(e, "make the file");
	if (inoset_add(&l->mine, st.st_ino) < 0)
		return err_set(e, ENOMEM, "out of memory");
	l->file_at = 0;
	l->entry = *en;
	return set_xattrs(l, l->file, en, e);
}

/* The target is looked up in the current tree, by the same rules as any name. */
static int put_hardlink(struct layer *l, struct layer_path *p, const struct tape_entry *en, struct err *e)
{
	struct layer_path to;
	struct stat st, old;
	int dirfd;

	if (layer_path_parse(en->target, &to, e) < 0)
		return err_wrap(e, "link");
	if (to.n == 0)
		return err_set(e, EBADMSG, "it is a hard link to the root");
	if (layer_walk(l, &to, false, &dirfd, e) < 0) {
		e->no = EBADMSG;
		return err_wrap(e, "hard link to '%.80s'", en->target);
	}
	const char *to_name = to.part[to.n - 1];
	autoclose int to_dir = fcntl(dirfd, F_DUPFD_CLOEXEC, 3); /* the next walk closes the layer's own fd */

	if (to_dir < 0 || fstatat(to_dir, to_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_set(e, EBADMSG, "hard link to '%.80s', which is not there", en->target);
	if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		return err_set(e, EBADMSG, "hard link to '%.80s', which is not a file", en->target);
	if (layer_walk(l, p, true, &dirfd, e) < 0)
		return -e->no;
	const char *name = p->part[p->n - 1];

	if (fstatat(dirfd, name, &old, AT_SYMLINK_NOFOLLOW) == 0) {
		if (old.st_ino == st.st_ino)
			return 0;
		if (layer_remove(l, dirfd, name, e) < 0)
			return -e->no;
	}
	if (linkat(to_dir, to_name, dirfd, name, 0) < 0)
		return err_sys(e, "link to '%.80s'", en->target);
	return inoset_add(&l->mine, st.st_ino) < 0 ? err_set(e, ENOMEM, "out of memory") : 0;
}

static int put_entry(struct layer *l, struct layer_path *p, const struct tape_entry *en, struct err *e)
{
	int dirfd;

	if (p->n == 0)
		return en->type == TAPE_DIR ? put_dir(l, l->root, ".", p, en, e)
					    : err_set(e, EBADMSG, "the root is not a directory");
	if (en->type == TAPE_HARDLINK)
		return put_hardlink(l, p, en, e);
	if (layer_walk(l, p, true, &dirfd, e) < 0)
		return -e->no;
	const char *name = p->part[p->n - 1];

	if (en->type == TAPE_DIR)
		return put_dir(l, dirfd, name, p, en, e);
	if (layer_remove(l, dirfd, name, e) < 0)
		return -e->no;
	if (en->type == TAPE_FILE)
		return put_file(l, dirfd, name, en, e);
	if (en->type == TAPE_SYMLINK ? symlinkat(en->target, dirfd, name) < 0 : mkfifoat(dirfd, name, 0600) < 0)
		return err_sys(e, en->type == TAPE_SYMLINK ? "make the link" : "make the pipe");
	if (note_mine(l, dirfd, name, e) < 0)
		return -e->no;
	return finish_other(l, dirfd, name, en, e);
}

/* --- whiteouts --- */

#define WHITEOUT ".wh."
#define OPAQUE ".wh..wh..opq"

/* Handles a whiteout: removes an entry of lower layers, or everything that a directory has from lower layers. */
static int take_whiteout(struct layer *l, struct layer_path *p, struct err *e)
{
	const char *mark = p->part[p->n - 1], *name = mark + strlen(WHITEOUT);
	struct stat st;
	int dirfd;
	int rc = layer_walk(l, p, false, &dirfd, e);

	if (rc == -ENOENT) /* nothing to remove */
		return 0;
	if (rc < 0)
		return rc;
	if (strcmp(mark, OPAQUE) == 0)
		return layer_clear_lower(l, dirfd, (unsigned)p->n, e);
	if (strncmp(name, WHITEOUT, strlen(WHITEOUT)) == 0) /* metadata of aufs */
		return 0;
	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return err_set(e, EBADMSG, "it is a whiteout of nothing that could be");
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_sys(e, "look at '%.80s'", name);
	if (!inoset_has(&l->mine, st.st_ino))
		return layer_remove(l, dirfd, name, e);
	if (!S_ISDIR(st.st_mode)) /* created by this layer, so the whiteout does not apply */
		return 0;
	autoclose int fd = openat(dirfd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? err_sys(e, "open '%.80s'", name) : layer_clear_lower(l, fd, (unsigned)p->n, e);
}

static bool is_whiteout(const char *part)
{
	return strncmp(part, WHITEOUT, strlen(WHITEOUT)) == 0;
}

static int take_entry(struct layer *l, const struct tape_entry *en, struct err *e)
{
	struct layer_totals *t = l->totals;
	struct layer_path p;

	if (t->entries >= t->max_entries)
		return err_set(e, EFBIG, "the image has more than %llu files", (unsigned long long)t->max_entries);
	t->entries++;
	if (layer_path_parse(en->name, &p, e) < 0)
		return -e->no;
	for (size_t i = 0; i + 1 < p.n; i++) {
		if (is_whiteout(p.part[i]))
			return err_set(e, EBADMSG, "it lies below a whiteout");
	}
	if (p.n > 0 && is_whiteout(p.part[p.n - 1]))
		return take_whiteout(l, &p, e);
	if (en->type == TAPE_CHAR || en->type == TAPE_BLOCKDEV) {
		if (p.n < 2 || strcmp(p.part[0], "dev") != 0)
			return err_set(e, EBADMSG, "it is a device");
		t->devices++; /* a sandbox has its own /dev */
		return 0;
	}
	return put_entry(l, &p, en, e);
}

/* --- callbacks of the archive reader --- */

static int on_entry(void *user, const struct tape_entry *en)
{
	struct layer *l = user;
	int rc = take_entry(l, en, &l->e);

	return rc < 0 ? err_wrap(&l->e, "entry '%.60s'", en->name) : 0;
}

static int on_data(void *user, uint64_t at, const void *p, size_t n)
{
	struct layer *l = user;

	if (l->file < 0)
		return 0;
	if (n > l->totals->max_bytes - l->totals->bytes)
		return err_set(&l->e, EFBIG, "the image has more than %llu MiB of files",
		    (unsigned long long)(l->totals->max_bytes >> 20));
	l->totals->bytes += n;
	if (at != l->file_at && lseek(l->file, (off_t)at, SEEK_SET) < 0)
		return err_sys(&l->e, "write a sparse file");
	l->file_at = at + n;
	int rc = fd_write_all(l->file, p, n);

	return rc < 0 ? err_set(&l->e, -rc, "write a file: %s", strerror(-rc)) : 0;
}

static int on_end(void *user)
{
	struct layer *l = user;
	autoclose int fd = take_fd(&l->file);

	if (fd < 0)
		return 0;
	if (l->entry.sparse && ftruncate(fd, (off_t)l->entry.size) < 0)
		return err_sys(&l->e, "set the size of a sparse file");
	return finish_file(l, fd, &l->entry, &l->e);
}

/* --- feeding --- */

int layer_put(struct layer *l, const void *p, size_t n, struct err *e)
{
	l->e = ERR_INIT;
	int rc = tape_put(l->tape, p, n);

	if (rc == 0)
		return 0;
	if (l->e.no) {
		*e = l->e;
		return -e->no;
	}
	return rc == -EBADMSG ? err_set(e, EBADMSG, "bad archive: %s", tape_why(l->tape))
			      : err_set(e, -rc, "read the archive: %s", strerror(-rc));
}

/* Sets the times of directories that still exist. */
static int set_dir_times(struct layer *l, struct err *e)
{
	struct str all = buf_view(&l->times);
	struct layer_path p;
	struct dir_time t;
	struct stat st;
	int dirfd;

	while (all.n > 0) {
		memcpy(&t, all.p, sizeof t);
		const struct timespec ts[2] = { { .tv_sec = t.s, .tv_nsec = t.ns },
			{ .tv_sec = t.s, .tv_nsec = t.ns } };

		if (layer_path_parse(all.p + sizeof t, &p, e) < 0)
			return -e->no;
		str_skip(&all, sizeof t + t.n);
		dirfd = l->root;
		if (p.n > 0 && layer_walk(l, &p, false, &dirfd, e) < 0)
			continue;
		/* read after the walk, which may have changed the name */
		const char *name = p.n ? p.part[p.n - 1] : ".";

		if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
		    utimensat(dirfd, name, ts, AT_SYMLINK_NOFOLLOW) < 0)
			return err_sys(e, "set the time of a directory");
	}
	*e = ERR_INIT;
	return 0;
}

int layer_end(struct layer *l, struct err *e)
{
	if (!tape_complete(l->tape))
		return err_set(e, EBADMSG, "bad archive: it is cut off");
	return set_dir_times(l, e);
}
