/* SPDX-License-Identifier: Apache-2.0 */
/* dev: the sandbox's /dev. */
#include "engine/dev.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/fd.h"
#include "base/rand.h"
#include "engine/mounts.h"

static const struct {
	const char *name;
	unsigned major, minor;
} nodes[] = {
	{ "null", 1, 3 },
	{ "zero", 1, 5 },
	{ "full", 1, 7 },
	{ "random", 1, 8 },
	{ "urandom", 1, 9 },
	{ "tty", 5, 0 },
};

static const struct {
	const char *name, *to;
} links[] = {
	{ "ptmx", "pts/ptmx" },
	{ "fd", "/proc/self/fd" },
	{ "stdin", "/proc/self/fd/0" },
	{ "stdout", "/proc/self/fd/1" },
	{ "stderr", "/proc/self/fd/2" },
	{ "core", "/proc/kcore" },
};

static const char *const dirs[] = { "pts", "shm", "mqueue" };

bool dev_has(const char *name)
{
	bool is = false;

	for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
		is |= strcmp(nodes[i].name, name) == 0;
	for (size_t i = 0; i < ARRAY_LEN(links); i++)
		is |= strcmp(links[i].name, name) == 0;
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		is |= strcmp(dirs[i], name) == 0;
	return is;
}

/* A new boot id per sandbox, in the form of a random UUID, to be mounted over the kernel's. */
static int write_boot_id(int fd, struct err *e)
{
	char h[33], z[40];
	autoclose int f = openat(fd, DEV_BOOT_ID, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);

	rand_hex(h, 32);
	int n = snprintf(z, sizeof z, "%.8s-%.4s-4%.3s-a%.3s-%.12s\n", h, h + 8, h + 13, h + 17, h + 20);

	if (f < 0 || write(f, z, (size_t)n) != n)
		return err_sys(e, "make '" DEV_BOOT_ID "'");
	return 0;
}

static int fill(int fd, uid_t root, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
		if (mknodat(fd, nodes[i].name, S_IFCHR | 0666, makedev(nodes[i].major, nodes[i].minor)) < 0 ||
		    fchmodat(fd, nodes[i].name, 0666, 0) < 0 || fchownat(fd, nodes[i].name, root, root, 0) < 0)
			return err_sys(e, "make '%s'", nodes[i].name);
	}
	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		if (symlinkat(links[i].to, fd, links[i].name) < 0 ||
		    fchownat(fd, links[i].name, root, root, AT_SYMLINK_NOFOLLOW) < 0)
			return err_sys(e, "make '%s'", links[i].name);
	}
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		if (mkdirat(fd, dirs[i], 0755) < 0 || fchownat(fd, dirs[i], root, root, AT_SYMLINK_NOFOLLOW) < 0)
			return err_sys(e, "make '%s'", dirs[i]);
	}
	/* Stays owned by the host: the sandbox's root cannot change it. */
	if (mkdirat(fd, ".atoll", 0755) < 0 || mkdirat(fd, DEV_NOTHING, 0555) < 0 || mkdirat(fd, DEV_VIEW, 0555) < 0)
		return err_sys(e, "make '.atoll'");
	autoclose int init = openat(fd, DEV_INIT, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0555);

	return init < 0 ? err_sys(e, "make '" DEV_INIT "'") : write_boot_id(fd, e);
}

/* The directory itself is owned by the host and sticky. The sandbox's root has the group's permission to create
 * files and to delete them again, but cannot move .atoll, which the host opens when it checkpoints the sandbox. */
int dev_make(uid_t root, int *ret_mount_fd, struct err *e)
{
	char id[16];
	struct mount_opt opts[] = {
		{ "source", "dev" },
		{ "mode", "1775" },
		{ "size", "1m" },
		{ "nr_inodes", "256" },
		{ "uid", "0" },
		{ "gid", id },
	};
	autoclose int fd = -1;

	(void)snprintf(id, sizeof id, "%u", root);
	if (mount_new("tmpfs", opts, ARRAY_LEN(opts), MOUNT_ATTR_NOSUID, &fd, e) < 0 || fill(fd, root, e) < 0)
		return err_wrap(e, "make /dev");
	*ret_mount_fd = take_fd(&fd);
	return 0;
}

/* The size is half the memory limit: files in it count as memory, and filling the whole limit would get pid 1
 * killed. */
int dev_make_shm(uint64_t mem_bytes, uid_t root, int *ret_mount_fd, struct err *e)
{
	char size[24];
	struct mount_opt opts[] = { { "source", "shm" }, { "mode", "1777" }, { "size", size },
		{ "nr_inodes", "65536" } };
	autoclose int fd = -1;

	(void)snprintf(size, sizeof size, "%llu", (unsigned long long)mem_bytes / 2);
	if (mount_new("tmpfs", opts, ARRAY_LEN(opts), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, &fd,
		e) < 0)
		return err_wrap(e, "make /dev/shm");
	if (fchownat(fd, "", root, root, AT_EMPTY_PATH) < 0)
		return err_sys(e, "make /dev/shm");
	*ret_mount_fd = take_fd(&fd);
	return 0;
}

int dev_shut(int mount_fd, struct err *e)
{
	return fchmodat(mount_fd, ".atoll", 0700, 0) < 0 ? err_sys(e, "close '.atoll'") : 0;
}
