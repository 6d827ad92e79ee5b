/* SPDX-License-Identifier: Apache-2.0 */
/* spaces: new namespaces, and those of others. */
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "attempt.h"

static int clone_flags(unsigned long flags)
{
	long pid = syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid == 0)
		_exit(0);
	if (pid < 0)
		return -errno;
	(void)waitpid((pid_t)pid, NULL, 0);
	return 0;
}

static int clone_user(void)
{
	return clone_flags(CLONE_NEWUSER);
}
static int clone_mount(void)
{
	return clone_flags(CLONE_NEWNS);
}
static int clone_pid(void)
{
	return clone_flags(CLONE_NEWPID);
}
static int clone_net(void)
{
	return clone_flags(CLONE_NEWNET);
}
/* The upper half of the argument is not the kernel's business, and must not be the filter's. */
static int clone_high(void)
{
	return clone_flags(CLONE_NEWUSER | 1ul << 40);
}

/* Its flags are in memory, where no filter can look. */
static int clone_three(void)
{
	struct clone_args a = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
	long pid = syscall(SYS_clone3, &a, sizeof a);

	if (pid == 0)
		_exit(0);
	return pid < 0 ? -errno : 0;
}

static int join(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return refused(errno, "open %s", path);
	return SYS(SYS_setns, fd, 0);
}

static int join_own(void)
{
	return join("/proc/self/ns/net");
}
static int join_pid1_mnt(void)
{
	return join("/proc/1/ns/mnt");
}
static int join_pid1_user(void)
{
	return join("/proc/1/ns/user");
}

static int join_pidfd(void)
{
	int fd = (int)syscall(SYS_pidfd_open, 1, 0);

	return fd < 0 ? unclear("pidfd_open: %s", errno_name(errno)) : SYS(SYS_setns, fd, CLONE_NEWNS);
}

/* NS_GET_PARENT and NS_GET_USERNS lead up, if they are let. */
static int upward(unsigned long request)
{
	int fd = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return unclear("open: %s", errno_name(errno));
	return SYS(SYS_ioctl, fd, request, 0);
}

static int parent_user(void)
{
	return upward(0xb702);
}

static int parent_pid(void)
{
	int fd = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? unclear("open: %s", errno_name(errno)) : SYS(SYS_ioctl, fd, 0xb702, 0);
}

/* NS_MNT_GET_NEXT of newer kernels: from one to the next, through all of the host. */
static int next_mounts(void)
{
	struct {
		unsigned size, n_mounts;
		unsigned long long id;
	} info = { .size = 16 };
	int fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? unclear("open: %s", errno_name(errno)) : SYS(SYS_ioctl, fd, 0x8010b70bul, &info);
}

/* PIDFD_GET_*_NAMESPACE of newer kernels, where /proc/1/ns is closed: all ten kinds. */
static int namespaces_by_pidfd(void)
{
	int fd = (int)syscall(SYS_pidfd_open, 1, 0), r = -ENOTTY;

	if (fd < 0)
		return unclear("pidfd_open: %s", errno_name(errno));
	for (unsigned long n = 1; n <= 10; n++) {
		long got = syscall(SYS_ioctl, fd, 0xff00ul | n, 0);

		if (got >= 0)
			return broken("request %lu gives a namespace of pid 1", n);
		r = -errno;
	}
	return r;
}

static int uid_map(void)
{
	return try_write("/proc/self/uid_map", "0 0 4294967295");
}
static int gid_map(void)
{
	return try_write("/proc/self/gid_map", "0 0 4294967295");
}
static int setgroups_file(void)
{
	return try_write("/proc/self/setgroups", "deny");
}

static int map_is_small(void)
{
	char text[512];
	unsigned long inside, outside, count;

	if (slurp("/proc/self/uid_map", text, sizeof text) <= 0 ||
	    sscanf(text, "%lu %lu %lu", &inside, &outside, &count) != 3)
		return unclear("no uid_map");
	if (outside == 0 || count > 65536 || strchr(text, '\n')[1])
		return broken("uid_map: %s", text);
	return held("0 is %lu, %lu ids", outside, count);
}

static const char making[] = "no new namespace, so no new powers over one";
static const char joining[] = "no namespace but its own";
static const char mapping[] = "ids inside stay the sandbox's own range outside";

#define UNSHARE(word, flag, more) { "spaces/unshare-" word, making, NULL, SYS_unshare, { N(flag) }, { EPERM }, more }

static const struct attempt attempts[] = {
	UNSHARE("user", CLONE_NEWUSER, OUTSIDE),
	UNSHARE("mount", CLONE_NEWNS, OUTSIDE),
	UNSHARE("pid", CLONE_NEWPID, OUTSIDE),
	UNSHARE("net", CLONE_NEWNET, OUTSIDE),
	UNSHARE("ipc", CLONE_NEWIPC, OUTSIDE),
	UNSHARE("uts", CLONE_NEWUTS, OUTSIDE),
	UNSHARE("cgroup", CLONE_NEWCGROUP, OUTSIDE),
	UNSHARE("time", 0x80, 0),
	{ "spaces/clone-user", making, clone_user, .expect = { EPERM }, .flags = OUTSIDE },
	{ "spaces/clone-mount", making, clone_mount, .expect = { EPERM }, .flags = OUTSIDE },
	{ "spaces/clone-pid", making, clone_pid, .expect = { EPERM }, .flags = OUTSIDE },
	{ "spaces/clone-net", making, clone_net, .expect = { EPERM }, .flags = OUTSIDE },
	{ "spaces/clone-high-bits", making, clone_high, .expect = { EPERM }, .flags = OUTSIDE },
	{ "spaces/clone3", making, clone_three, .expect = { ENOSYS }, .flags = OUTSIDE },
	{ "spaces/setns-own", joining, join_own, .expect = { EPERM }, .flags = OUTSIDE },
	{ "spaces/setns-mount-of-pid1", joining, join_pid1_mnt, .expect = { EACCES, EPERM } },
	{ "spaces/setns-user-of-pid1", joining, join_pid1_user, .expect = { EACCES, EPERM } },
	{ "spaces/setns-pidfd", joining, join_pidfd, .expect = { EPERM } },
	{ "spaces/parent-user", joining, parent_user, .expect = { EPERM } },
	{ "spaces/next-mounts", joining, next_mounts, .expect = { EPERM, EACCES, ENOTTY } },
	{ "spaces/pidfd-of-pid1", joining, namespaces_by_pidfd, .expect = { EACCES, EPERM, ENOTTY, EINVAL } },
	{ "spaces/parent-pid", joining, parent_pid, .expect = { EPERM } },
	{ "spaces/uid-map", mapping, uid_map, .expect = { EPERM } },
	{ "spaces/gid-map", mapping, gid_map, .expect = { EPERM } },
	{ "spaces/setgroups", mapping, setgroups_file, .expect = { EPERM, EACCES } },
	{ "spaces/map-is-small", mapping, map_is_small },
};
GROUP(spaces, "spaces");
