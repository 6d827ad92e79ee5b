/* SPDX-License-Identifier: Apache-2.0 */
/* mounts: the way of most escapes. Nothing can be mounted, moved, uncovered or left. */
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "attempt.h"

#define MS_BIND_ 4096
#define MS_MOVE_ 8192
#define MS_REMOUNT_ 32
#define MS_SHARED_ (1 << 20)
#define DETACH 2
#define NR_open_tree_attr 467
#define NR_statmount 457
#define NR_listmount 458

static int freeze_root(void)
{
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? unclear("open /: %s", errno_name(errno)) : SYS(SYS_ioctl, fd, 0xc0045877ul, 0);
}

static const char at[] = "/tmp/escape-mnt";

static int mount_type(const char *type, const char *data)
{
	(void)mkdir(at, 0700);
	return SYS(SYS_mount, "none", at, type, 0, data);
}

static int tmpfs(void)
{
	return mount_type("tmpfs", NULL);
}
static int proc(void)
{
	return mount_type("proc", NULL);
}
static int sysfs(void)
{
	return mount_type("sysfs", NULL);
}
static int cgroup1(void)
{
	return mount_type("cgroup", "memory");
}
static int cgroup2(void)
{
	return mount_type("cgroup2", NULL);
}
static int devtmpfs(void)
{
	return mount_type("devtmpfs", NULL);
}
static int debugfs(void)
{
	return mount_type("debugfs", NULL);
}
static int mqueue(void)
{
	return mount_type("mqueue", NULL);
}
static int overlay(void)
{
	return mount_type("overlay", "lowerdir=/,upperdir=/tmp,workdir=/var/tmp");
}

static int bind_proc(void)
{
	(void)mkdir(at, 0700);
	return SYS(SYS_mount, "/proc", at, NULL, MS_BIND_, NULL);
}

/* Over a mask: what is below a mount that was put there from outside is never seen again. */
static int over_mask(void)
{
	return SYS(SYS_mount, "/dev/zero", "/proc/kcore", NULL, MS_BIND_, NULL);
}

static int attributes(void)
{
	struct mount_attr a = { .attr_clr = MOUNT_ATTR_RDONLY };

	return SYS(SYS_mount_setattr, AT_FDCWD, "/proc/sys", 0, &a, sizeof a);
}

static int tree_clone(void)
{
	return SYS(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE);
}

static int new_api(void)
{
	return SYS(SYS_fsopen, "tmpfs", 0);
}

/* The old trick: a directory that is open from before a chroot leads out of it. It must end at the sandbox's own
 * root. */
static int chroot_out(void)
{
	struct stat before, after;
	int fd = open("/", O_RDONLY | O_DIRECTORY);

	(void)mkdir("/tmp/escape-jail", 0700);
	if (fd < 0 || stat("/", &before) < 0 || chroot("/tmp/escape-jail") < 0 || fchdir(fd) < 0)
		return unclear("no chroot: %s", errno_name(errno));
	for (int i = 0; i < 64; i++) {
		if (chdir("..") < 0)
			return unclear("chdir: %s", errno_name(errno));
	}
	if (chroot(".") < 0 || stat("/", &after) < 0)
		return unclear("chroot again: %s", errno_name(errno));
	return before.st_ino == after.st_ino && before.st_dev == after.st_dev ? held("64 levels up is the same root")
									      : broken("another root");
}

/* A descriptor of the root, and as many ".." as one likes. */
static int climb(void)
{
	char up[64 * 3 + 16] = "";
	struct stat root, top;

	for (int i = 0; i < 64; i++)
		memcpy(up + i * 3, "../", 4);
	int fd = open("/proc/self/root", O_PATH | O_DIRECTORY);

	if (fd < 0 || stat("/", &root) < 0 || fstatat(fd, up, &top, 0) < 0)
		return unclear("climb: %s", errno_name(errno));
	return root.st_ino == top.st_ino && root.st_dev == top.st_dev ? held("the same root")
								      : broken("something above the root");
}

/* What tells where on the host the sandbox lies. */
static int mountinfo(void)
{
	static char text[65536];
	static const char *const words[] = { "/var/lib/atoll", "/var/cache", "pool.img", "/state/", "rootfs" };
	int n = slurp("/proc/self/mountinfo", text, sizeof text);

	if (n <= 0)
		return unclear("mountinfo: %s", errno_name(-n));
	for (size_t i = 0; i < COUNT(words); i++) {
		if (strstr(text, words[i]))
			return broken("mountinfo names %s", words[i]);
	}
	return held("%d bytes without a path of the host", n);
}

/* Only what the host made: a mount more would be a way that nobody has looked at. */
static int set_of_mounts(void)
{
	static char text[65536];
	static const char *const types[] = { "overlay", "tmpfs", "proc", "sysfs", "devpts", "mqueue", "btrfs", "ext4",
		"xfs", "fuse atoll-view " };
	unsigned seen = 0;
	int n = slurp("/proc/self/mountinfo", text, sizeof text);

	if (n <= 0)
		return unclear("mountinfo: %s", errno_name(-n));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), seen++) {
		char *dash = strstr(line, " - ");
		bool known = false;

		for (size_t i = 0; dash && i < COUNT(types); i++)
			known |= strncmp(dash + 3, types[i], strlen(types[i])) == 0;
		if (!known)
			return broken("a mount of another kind: %.120s", line);
	}
	return held("%u mounts, all of a known kind", seen);
}

static const char mounting[] = "nothing is mounted from inside";
static const char uncovering[] = "what the host has covered stays covered";
static const char leaving[] = "the root of the sandbox is the top of all it can reach";

static const struct attempt attempts[] = {
	{ "mounts/tmpfs", mounting, tmpfs, .expect = { EPERM }, .flags = OUTSIDE },
	{ "mounts/bind", mounting, bind_proc, .expect = { EPERM }, .flags = OUTSIDE },
	{ "mounts/proc", mounting, proc, .expect = { EPERM }, .flags = OUTSIDE },
	{ "mounts/sysfs", mounting, sysfs, .expect = { EPERM }, .flags = OUTSIDE },
	{ "mounts/cgroup1", mounting, cgroup1, .expect = { EPERM } },
	{ "mounts/cgroup2", mounting, cgroup2, .expect = { EPERM }, .flags = OUTSIDE },
	{ "mounts/devtmpfs", mounting, devtmpfs, .expect = { EPERM } },
	{ "mounts/debugfs", mounting, debugfs, .expect = { EPERM } },
	{ "mounts/mqueue", mounting, mqueue, .expect = { EPERM }, .flags = OUTSIDE },
	{ "mounts/overlay", mounting, overlay, .expect = { EPERM } },
	{ "mounts/move", mounting, NULL, SYS_mount, { "/proc", "/mnt", NULL, N(MS_MOVE_), NULL }, { EPERM } },
	{ "mounts/propagate", "mounts do not spread between sandbox and host", NULL, SYS_mount,
	    { NULL, "/", NULL, N(MS_SHARED_), NULL }, { EPERM }, OUTSIDE },
	{ "mounts/fsopen", mounting, new_api, .expect = { EPERM }, .flags = OUTSIDE },
	{ "mounts/fspick", uncovering, NULL, SYS_fspick, { N(AT_FDCWD), "/", N(0) }, { EPERM } },
	{ "mounts/open-tree", mounting, tree_clone, .expect = { EPERM }, .flags = OUTSIDE },
	{ "mounts/open-tree-attr", mounting, NULL, NR_open_tree_attr, { N(AT_FDCWD), "/", N(1), NULL, N(0) },
	    { EPERM, ENOSYS } },
	{ "mounts/move-mount", mounting, NULL, SYS_move_mount, { N(AT_FDCWD), "/proc", N(AT_FDCWD), "/mnt", N(0) },
	    { EPERM } },
	{ "mounts/statmount", "a sandbox does not see mounts of others", NULL, NR_statmount, { NULL, NULL, N(0), N(0) },
	    { EPERM, ENOSYS } },
	{ "mounts/listmount", "a sandbox does not see mounts of others", NULL, NR_listmount, { NULL, NULL, N(0), N(0) },
	    { EPERM, ENOSYS } },
	{ "mounts/freeze", "no file system stands still for the others", freeze_root, .expect = { EPERM } },
	{ "mounts/remount-root", uncovering, NULL, SYS_mount, { NULL, "/", NULL, N(MS_REMOUNT_), NULL }, { EPERM } },
	{ "mounts/remount-proc-sys", uncovering, NULL, SYS_mount,
	    { NULL, "/proc/sys", NULL, N(MS_REMOUNT_ | MS_BIND_), NULL }, { EPERM } },
	{ "mounts/setattr-proc-sys", uncovering, attributes, .expect = { EPERM } },
	{ "mounts/umount-proc-sys", uncovering, NULL, SYS_umount2, { "/proc/sys", N(DETACH) }, { EPERM } },
	{ "mounts/umount-kcore", uncovering, NULL, SYS_umount2, { "/proc/kcore", N(DETACH) }, { EPERM } },
	{ "mounts/umount-meminfo", uncovering, NULL, SYS_umount2, { "/proc/meminfo", N(DETACH) }, { EPERM } },
	{ "mounts/write-meminfo", "what a sandbox sees of itself can only be read", NULL, SYS_openat,
	    { N(AT_FDCWD), "/proc/meminfo", N(O_WRONLY) }, { EROFS, EACCES } },
	{ "mounts/list-view", "a sandbox reaches no view but its own", NULL, SYS_openat,
	    { N(AT_FDCWD), "/dev/.atoll/view/..", N(O_RDONLY) }, { EACCES, ENOENT } },
	{ "mounts/umount-firmware", uncovering, NULL, SYS_umount2, { "/sys/firmware", N(DETACH) }, { EPERM } },
	{ "mounts/umount-proc", uncovering, NULL, SYS_umount2, { "/proc", N(DETACH) }, { EPERM }, OUTSIDE },
	{ "mounts/umount-dev", uncovering, NULL, SYS_umount2, { "/dev", N(DETACH) }, { EPERM } },
	{ "mounts/umount-root", leaving, NULL, SYS_umount2, { "/", N(DETACH) }, { EPERM } },
	{ "mounts/over-a-mask", uncovering, over_mask, .expect = { EPERM } },
	{ "mounts/pivot-root", leaving, NULL, SYS_pivot_root, { "/", "/" }, { EPERM } },
	{ "mounts/chroot-out", leaving, chroot_out, .flags = BY_ROOT },
	{ "mounts/climb", leaving, climb },
	{ "mounts/mountinfo", "nothing tells where on the host a sandbox lies", mountinfo },
	{ "mounts/set-of-mounts", mounting, set_of_mounts },
};
GROUP(mounts, "mounts");
