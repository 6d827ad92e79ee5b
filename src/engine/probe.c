/* SPDX-License-Identifier: Apache-2.0 */
/* probe: checks that the kernel has what the engine needs. */
#include "engine/probe.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"

#define KERNEL_MAJOR 6
#define KERNEL_MINOR 1

static int probe_version(struct err *e)
{
	struct utsname u;
	unsigned major, minor;

	if (uname(&u) < 0 || sscanf(u.release, "%u.%u", &major, &minor) != 2)
		return err_set(e, EINVAL, "read the kernel's version");
	if (major < KERNEL_MAJOR || (major == KERNEL_MAJOR && minor < KERNEL_MINOR))
		return err_set(e, ENOTSUP, "Linux %d.%d or newer is needed, this is %s", KERNEL_MAJOR, KERNEL_MINOR,
		    u.release);
	return 0;
}

/* A module that is not loaded yet is not in /proc/filesystems; opening a context of that type loads it. */
static int probe_filesystem(const char *type, const char *remedy, struct err *e)
{
	autoclose int fd = (int)syscall(SYS_fsopen, type, 1);

	if (fd >= 0)
		return 0;
	if (errno == ENODEV)
		return err_set(e, ENODEV, "the kernel has no '%s' file system: %s", type, remedy);
	return err_sys(e, "try the '%s' file system (are we root?)", type);
}

static int probe_user_namespaces(struct err *e)
{
	char z[32];
	ssize_t n = file_read(AT_FDCWD, "/proc/sys/user/max_user_namespaces", z, sizeof z);

	if (n < 0)
		return err_set(e, ENOTSUP, "the kernel has no user namespaces");
	if (strcmp(z, "0\n") == 0)
		return err_set(e, ENOTSUP, "user namespaces are off: set user.max_user_namespaces above 0 with sysctl");
	return 0;
}

/* The engine makes all mounts private and adds its own, which must not affect the whole host. */
static int probe_mount_namespace(struct err *e)
{
	struct stat ours, init;

	if (stat("/proc/self/ns/mnt", &ours) < 0)
		return err_sys(e, "look at our mount namespace (is /proc mounted?)");
	/* pid 1 may have a capability that we lack; then this cannot be checked */
	if (stat("/proc/1/ns/mnt", &init) < 0)
		return 0;
	if (ours.st_ino == init.st_ino && ours.st_dev == init.st_dev)
		return err_set(e, EINVAL, "must be run in a mount namespace of its own");
	return 0;
}

int probe_kernel(bool no_storage, struct err *e)
{
	if (geteuid() != 0)
		return err_set(e, EPERM, "must be run as root");
	if (probe_mount_namespace(e) < 0 || probe_version(e) < 0 || probe_user_namespaces(e) < 0)
		return -e->no;
	if (probe_filesystem("overlay", "load the module 'overlay'", e) < 0)
		return -e->no;
	if (!no_storage &&
	    probe_filesystem("btrfs", "load the module 'btrfs', or set pool = none to run without disk limits", e) < 0)
		return -e->no;
	return 0;
}
