/* SPDX-License-Identifier: Apache-2.0 */
/* mounts: the fd-based mount calls, by number where the C library may be older than the kernel. */
#include "engine/mounts.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

#define MS_REC_ 0x4000ul /* <sys/mount.h> and <linux/mount.h> conflict in some C libraries */
#define MS_PRIVATE_ 0x40000ul
#define MNT_DETACH_ 2

/* The kernel explains a refused file system option in the log of the fs context. */
static int fs_err(struct err *e, int fs, const char *what)
{
	int no = errno;
	char log[160];
	ssize_t n = read(fs, log, sizeof log - 1);

	if (n <= 2) {
		errno = no;
		return err_sys(e, "%s", what);
	}
	log[n] = '\0';
	if (log[n - 1] == '\n')
		log[n - 1] = '\0';
	return err_set(e, no, "%s: %s: %s", what, log + 2, strerror(no));
}

int mount_new(const char *type, const struct mount_opt *opts, size_t n_opts, unsigned attr, int *ret_fd, struct err *e)
{
	autoclose int fs = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);

	if (fs < 0)
		return err_sys(e, "make a '%s' file system", type);
	for (size_t i = 0; i < n_opts; i++) {
		unsigned cmd = opts[i].value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG;

		if (syscall(SYS_fsconfig, fs, cmd, opts[i].key, opts[i].value, 0) < 0) {
			(void)fs_err(e, fs, opts[i].key);
			return err_wrap(e, "configure '%s'", type);
		}
	}
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return fs_err(e, fs, type);
	int fd = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, attr);

	if (fd < 0)
		return fs_err(e, fs, type);
	*ret_fd = fd;
	return 0;
}

static int set_attr(int fd, struct mount_attr *attr)
{
	return (int)syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH, attr, sizeof *attr);
}

int mount_clone(int dirfd, const char *path, uint64_t attr, int *ret_fd, struct err *e)
{
	unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (*path ? AT_SYMLINK_NOFOLLOW : AT_EMPTY_PATH);
	autoclose int fd = (int)syscall(SYS_open_tree, dirfd, path, flags);

	if (fd < 0)
		return err_sys(e, "clone the mount of '%s'", path);
	if (attr && set_attr(fd, &(struct mount_attr) { .attr_set = attr }) < 0)
		return err_sys(e, "set mount attributes of '%s'", path);
	*ret_fd = take_fd(&fd);
	return 0;
}

int mount_idmap(int mount_fd, int userns_fd, struct err *e)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)userns_fd };

	return set_attr(mount_fd, &attr) < 0 ? err_sys(e, "map the ids of a mount") : 0;
}

int mount_change(int mount_fd, unsigned flags, uint64_t set, uint64_t clear, struct err *e)
{
	struct mount_attr attr = { .attr_set = set, .attr_clr = clear };

	return syscall(SYS_mount_setattr, mount_fd, "", AT_EMPTY_PATH | flags, &attr, sizeof attr) < 0
	    ? err_sys(e, "change a mount")
	    : 0;
}

int mount_put(int mount_fd, int dirfd, const char *path, struct err *e)
{
	unsigned flags = MOVE_MOUNT_F_EMPTY_PATH | (*path ? 0 : MOVE_MOUNT_T_EMPTY_PATH);

	if (syscall(SYS_move_mount, mount_fd, "", dirfd, path, flags) < 0)
		return err_sys(e, "mount on '%s'", path);
	return 0;
}

int mount_target(int root_fd, const char *path, int *ret_fd, struct err *e)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof how);

	if (fd < 0)
		return err_sys(e, "open '%s'", path);
	*ret_fd = fd;
	return 0;
}

int mount_make_private(struct err *e)
{
	if (syscall(SYS_mount, NULL, "/", NULL, MS_REC_ | MS_PRIVATE_, NULL) < 0)
		return err_sys(e, "make mounts private");
	return 0;
}

int mount_pivot(int root_fd, struct err *e)
{
	/* With both arguments "." the old root ends up mounted on top of the new one, and "." refers to it. */
	if (fchdir(root_fd) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return err_sys(e, "change the root");
	if (syscall(SYS_umount2, ".", MNT_DETACH_) < 0 || chdir("/") < 0)
		return err_sys(e, "leave the old root");
	return 0;
}

int mount_detach(const char *path)
{
	return syscall(SYS_umount2, path, MNT_DETACH_) < 0 ? -errno : 0;
}
