/* SPDX-License-Identifier: Apache-2.0 */
/* image_dev: saves and loads what a sandbox has created in its /dev.
 *
 * The host makes that tmpfs (no process inside can create a device node), so CRIU skips it, and we save the few
 * files that the sandbox's root may have added. It holds at most 256 files and one megabyte, so recursion is safe.
 * No process of the sandbox runs meanwhile; still no link is followed. Device nodes and sockets are skipped: the
 * nodes are ours, and CRIU restores the sockets. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "engine/ckpt/image.h"
#include "engine/dev.h"

#define LINK_MAX_BYTES 4096
#define BOOT_ID "boot_id"

struct copy {
	bool top;                 /* in /dev itself, which contains our nodes */
	uid_t from_root, to_root; /* if equal, ids do not change */
};

static bool is_ours(const char *name)
{
	return dev_has(name) || strcmp(name, ".atoll") == 0;
}

static uid_t other_id(const struct copy *c, uid_t id)
{
	return id >= c->from_root && id - c->from_root < 65536 ? id - c->from_root + c->to_root : id;
}

static int copy_file(int from_dir, int to_dir, const char *name, const struct stat *st)
{
	autoclose int from = openat(from_dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	autoclose int to = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (from < 0 || to < 0)
		return -errno;
	for (off_t left = st->st_size; left > 0;) {
		ssize_t n = sendfile(to, from, NULL, (size_t)left);

		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		left -= n;
	}
	return 0;
}

static int copy_link(int from_dir, int to_dir, const char *name)
{
	char to[LINK_MAX_BYTES + 1];
	ssize_t n = readlinkat(from_dir, name, to, LINK_MAX_BYTES);

	if (n < 0)
		return -errno;
	to[n] = '\0';
	return symlinkat(to, to_dir, name) < 0 ? -errno : 0;
}

static int copy_dir(int from_dir, int to_dir, const struct copy *c);

static int copy_below(int from_dir, int to_dir, const char *name, const struct copy *c)
{
	struct copy below = { .from_root = c->from_root, .to_root = c->to_root };
	autoclose int from = openat(from_dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (from < 0 || mkdirat(to_dir, name, 0700) < 0)
		return -errno;
	autoclose int to = openat(to_dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	return to < 0 ? -errno : copy_dir(from, to, &below);
}

static int copy_one(int from_dir, int to_dir, const char *name, const struct copy *c)
{
	struct stat st;
	int r = 0;

	if (fstatat(from_dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	switch (st.st_mode & S_IFMT) {
	case S_IFREG:
		r = copy_file(from_dir, to_dir, name, &st);
		break;
	case S_IFLNK:
		r = copy_link(from_dir, to_dir, name);
		break;
	case S_IFDIR:
		r = copy_below(from_dir, to_dir, name, c);
		break;
	case S_IFIFO:
		r = mkfifoat(to_dir, name, 0600) < 0 ? -errno : 0;
		break;
	default:
		return 0;
	}
	if (r < 0)
		return r;
	if (fchownat(to_dir, name, other_id(c, st.st_uid), other_id(c, st.st_gid), AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return !S_ISLNK(st.st_mode) && fchmodat(to_dir, name, st.st_mode & 07777, 0) < 0 ? -errno : 0;
}

static int copy_dir(int from_dir, int to_dir, const struct copy *c)
{
	int own = openat(from_dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *d = own < 0 ? NULL : fdopendir(own);

	if (!d) {
		fd_close(own);
		return -errno;
	}
	for (struct dirent *de; r == 0 && (de = readdir(d));) {
		if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0 || (c->top && is_ours(de->d_name)))
			continue;
		r = copy_one(from_dir, to_dir, de->d_name, c);
	}
	(void)closedir(d);
	return r;
}

/* A restored sandbox keeps its boot id. */
static int copy_boot_id(int from_dir, const char *from_name, int to_dir, const char *to_name)
{
	/* The directory belongs to the sandbox; the path is ours only if it contains no link. */
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV };
	char z[64];
	autoclose int from = (int)syscall(SYS_openat2, from_dir, from_name, &how, sizeof how);
	ssize_t n = from < 0 ? -errno : read(from, z, sizeof z);
	autoclose int to = n < 0 ? -1
				 : openat(to_dir, to_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0444);

	if (n < 0 || to < 0)
		return n < 0 && from < 0 ? (int)n : -errno;
	return fd_write_all(to, z, (size_t)n);
}

int image_save_dev(int image, int dev_fd, struct err *e)
{
	struct copy c = { .top = true };
	autoclose int to = -1;

	if (mkdirat(image, "dev", 0700) < 0)
		return err_sys(e, "keep /dev");
	to = openat(image, "dev", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	int r = to < 0 ? -errno : copy_dir(dev_fd, to, &c);

	if (r == 0)
		r = copy_boot_id(dev_fd, DEV_BOOT_ID, image, BOOT_ID);
	return r < 0 ? err_set(e, -r, "keep /dev: %s", strerror(-r)) : 0;
}

int image_load_dev(int image, int dev_fd, uid_t from_root, uid_t to_root, struct err *e)
{
	struct copy c = { .top = true, .from_root = from_root, .to_root = to_root };
	autoclose int from = openat(image, "dev", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	int r = from < 0 ? -errno : copy_dir(from, dev_fd, &c);

	if (r == 0)
		r = copy_boot_id(image, BOOT_ID, dev_fd, DEV_BOOT_ID);
	return r < 0 ? err_set(e, -r, "fill /dev: %s", strerror(-r)) : 0;
}
