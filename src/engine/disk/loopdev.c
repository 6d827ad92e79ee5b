/* SPDX-License-Identifier: Apache-2.0 */
/* loopdev: the loop device behind the storage file. */
#include "engine/disk/loopdev.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/fd.h"
#include "base/str.h"

#define LOOP_MAJOR_ 7
#define CONTROL_MINOR 237
#define BLOCK_SIZE 4096
#define TRIES 16

static int node_open(int dir_fd, const char *name, mode_t type, dev_t dev, int *ret_fd)
{
	if (mknodat(dir_fd, name, type | 0600, dev) < 0 && errno != EEXIST)
		return -errno;
	int fd = openat(dir_fd, name, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

static int device_open(int dir_fd, int number, int *ret_fd)
{
	char name[24];

	(void)snprintf(name, sizeof name, "loop%d", number);
	return node_open(dir_fd, name, S_IFBLK, makedev(LOOP_MAJOR_, (unsigned)number), ret_fd);
}

static bool backs(int loop_fd, const struct stat *file)
{
	struct loop_info64 info;

	return ioctl(loop_fd, LOOP_GET_STATUS64, &info) == 0 && info.lo_device == file->st_dev &&
	    info.lo_inode == file->st_ino;
}

static int find(const struct stat *file, int dir_fd, int *ret_number, int *ret_fd)
{
	DIR *d = opendir("/sys/block");
	int r = -ENOENT;

	if (!d)
		return -errno;
	for (struct dirent *de; r == -ENOENT && (de = readdir(d));) {
		char path[300];
		uint64_t number;
		autoclose int fd = -1;

		if (strncmp(de->d_name, "loop", 4) != 0 || str_to_u64(str_of(de->d_name + 4), 1 << 20, &number) < 0)
			continue;
		(void)snprintf(path, sizeof path, "/sys/block/%s/loop/backing_file", de->d_name);
		if (access(path, F_OK) < 0 || device_open(dir_fd, (int)number, &fd) < 0 || !backs(fd, file))
			continue;
		*ret_number = (int)number;
		*ret_fd = take_fd(&fd);
		r = 0;
	}
	(void)closedir(d);
	return r;
}

static int configure(int loop_fd, int file_fd)
{
	struct loop_config c = { .fd = (uint32_t)file_fd, .block_size = BLOCK_SIZE };

	c.info.lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO;
	(void)str_copy((char *)c.info.lo_file_name, sizeof c.info.lo_file_name, STR_LIT("atoll pool"));
	if (ioctl(loop_fd, LOOP_CONFIGURE, &c) == 0)
		return 0;
	if (errno != EINVAL)
		return -errno;
	c.info.lo_flags = LO_FLAGS_AUTOCLEAR; /* the underlying file system has no direct I/O: slower, but correct */
	return ioctl(loop_fd, LOOP_CONFIGURE, &c) < 0 ? -errno : 0;
}

int loopdev_attach(int file_fd, int dir_fd, int *ret_number, int *ret_fd, struct err *e)
{
	autoclose int control = -1;
	struct stat st;

	if (fstat(file_fd, &st) < 0)
		return err_sys(e, "look at the pool file");
	if (find(&st, dir_fd, ret_number, ret_fd) == 0)
		return 0;
	int r = node_open(dir_fd, "loop-control", S_IFCHR, makedev(10, CONTROL_MINOR), &control);

	if (r < 0)
		return err_set(e, -r, "open loop-control (is the loop module loaded?): %s", strerror(-r));
	for (int i = 0; i < TRIES; i++) {
		autoclose int fd = -1;
		int number = ioctl(control, LOOP_CTL_GET_FREE);

		if (number < 0)
			return err_sys(e, "find a free loop device");
		r = device_open(dir_fd, number, &fd);
		if (r >= 0)
			r = configure(fd, file_fd);
		if (r >= 0) {
			*ret_number = number;
			*ret_fd = take_fd(&fd);
			return 0;
		}
		if (r != -EBUSY && r != -ENXIO) /* another process was faster: try the next */
			break;
	}
	return err_set(e, -r, "set up a loop device: %s", strerror(-r));
}

int loopdev_grown(int loop_fd)
{
	return ioctl(loop_fd, LOOP_SET_CAPACITY) < 0 ? -errno : 0;
}
