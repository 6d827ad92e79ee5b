/* SPDX-License-Identifier: Apache-2.0 */
/* room: reads usage from sysfs and sets the second limit. */
#include "engine/disk/room.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/btrfs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"

#define MIB (1ull << 20)
#define RESERVE_PART 8
#define RESERVE_SMALL (1024 * MIB) /* a fast writer must not use it up between two checks, */
#define RESERVE_SMALL_PART 4       /* ... but at most this fraction of a small storage */
#define SLACK_PART 32              /* fraction of the reserve: smaller changes are not worth a call */
#define NERVOUS_MS 100             /* check interval while less than three quarters are free */
/* Every EACH_MORE subvolumes add NERVOUS_MS to the interval, because a check reads all of them. */
#define EACH_MORE 200

uint64_t room_reserve(const struct room_storage *p)
{
	uint64_t small = p->bytes / RESERVE_SMALL_PART < RESERVE_SMALL ? p->bytes / RESERVE_SMALL_PART : RESERVE_SMALL;

	return p->bytes / RESERVE_PART > small ? p->bytes / RESERVE_PART : small;
}

/* A sandbox or volume is large if it uses at least half of what the largest one uses. The bar falls with the free
 * space once that is below the reserve. */
static bool is_large(const struct room_storage *p, const struct room_use *u, uint64_t most)
{
	uint64_t reserve = room_reserve(p), bar = most / 2;

	if (p->free_bytes < reserve)
		bar = (uint64_t)((double)bar * (double)p->free_bytes / (double)reserve);
	return u->used >= bar;
}

uint64_t room_held(const struct room_storage *p, const struct room_use *u, uint64_t most)
{
	uint64_t reserve = room_reserve(p), spare = p->free_bytes > reserve ? p->free_bytes - reserve : 0;
	uint64_t left = p->free_bytes - spare;
	uint64_t more = is_large(p, u, most) ? spare : spare + left / 2;

	return u->used + more >= u->promised ? ROOM_NONE : u->used + more;
}

static uint64_t read_number(int dir, const char *name)
{
	autoclose int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	char z[32] = "";

	return fd >= 0 && read(fd, z, sizeof z - 1) > 0 ? strtoull(z, NULL, 0) : 0;
}

static int open_sysfs(int fs_fd, const char *below)
{
	struct btrfs_ioctl_fs_info_args a = { 0 };
	char path[128];
	const unsigned char *u = a.fsid;

	if (ioctl(fs_fd, BTRFS_IOC_FS_INFO, &a) < 0)
		return -1;
	(void)snprintf(path, sizeof path,
	    "/sys/fs/btrfs/%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x/%s", u[0], u[1], u[2],
	    u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15], below);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int set_held(int fs_fd, const struct room_use *u, uint64_t held)
{
	struct btrfs_ioctl_qgroup_limit_args a = { .qgroupid = u->id,
		.lim = { .flags = BTRFS_QGROUP_LIMIT_MAX_EXCL,
		    .max_excl = held } }; /* ROOM_NONE also means "none" to the kernel */

	return ioctl(fs_fd, BTRFS_IOC_QGROUP_LIMIT, &a) < 0 ? -errno : 0;
}

/* Reads one that has a promised limit; snapshots have none. */
static bool read_one(int dir, const char *name, struct room_use *ret)
{
	autoclose int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t flags = fd < 0 ? 0 : read_number(fd, "limit_flags");

	if (sscanf(name, "0_%" SCNu64, &ret->id) != 1 || !(flags & BTRFS_QGROUP_LIMIT_MAX_RFER))
		return false;
	ret->promised = read_number(fd, "max_referenced");
	ret->held = flags & BTRFS_QGROUP_LIMIT_MAX_EXCL ? read_number(fd, "max_exclusive") : ROOM_NONE;
	ret->used = read_number(fd, "exclusive") + read_number(fd, "rsv_data") + read_number(fd, "rsv_meta_pertrans") +
	    read_number(fd, "rsv_meta_prealloc");
	return true;
}

static size_t read_all(int fs_fd, struct room_use **ret)
{
	int fd = open_sysfs(fs_fd, "qgroups");
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct room_use *v = NULL, one;
	size_t n = 0, cap = 0;

	if (!d) {
		fd_close(fd);
		return 0;
	}
	for (struct dirent *de; (de = readdir(d));) {
		if (!read_one(dirfd(d), de->d_name, &one))
			continue;
		if (n == cap) {
			struct room_use *more = realloc(v, (cap = cap ? 2 * cap : 64) * sizeof *v);

			if (!more)
				break;
			v = more;
		}
		v[n++] = one;
	}
	(void)closedir(d);
	*ret = v;
	return n;
}

/* statvfs() does not include data that is about to be written. */
static bool read_storage(int fs_fd, uint64_t grow_bytes, struct room_storage *ret)
{
	autoclose int data = open_sysfs(fs_fd, "allocation/data");
	struct statvfs fs;

	if (data < 0 || fstatvfs(fs_fd, &fs) < 0)
		return false;
	uint64_t free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	uint64_t soon = read_number(data, "bytes_may_use") + read_number(data, "bytes_reserved");

	ret->bytes = (uint64_t)fs.f_blocks * fs.f_frsize + grow_bytes;
	ret->free_bytes = (free_bytes > soon ? free_bytes - soon : 0) + grow_bytes;
	return true;
}

static bool differs(uint64_t a, uint64_t b, uint64_t slack)
{
	return (a == ROOM_NONE) != (b == ROOM_NONE) || (a > b ? a - b : b - a) > slack;
}

static void apply(int fs_fd, const struct room_storage *p, const struct room_use *v, size_t n)
{
	uint64_t most = 0, slack = room_reserve(p) / SLACK_PART;
	size_t stopped = 0;

	for (size_t i = 0; i < n; i++)
		most = v[i].used > most ? v[i].used : most;
	for (size_t i = 0; i < n; i++) {
		uint64_t held = room_held(p, &v[i], most);
		bool stops = held != ROOM_NONE && held <= v[i].used + slack;

		if (!differs(held, v[i].held, slack))
			continue;
		if (set_held(fs_fd, &v[i], held) == 0 && stops)
			stopped++;
	}
	if (stopped)
		log_warn("the storage is nearly full: the sandboxes that use most cannot write",
		    "free_mib=%llu held=%zu", (unsigned long long)(p->free_bytes / MIB), stopped);
}

static bool is_ample(const struct room_storage *p)
{
	return p->free_bytes >= p->bytes / 4 * 3;
}

bool room_is_ample(int fs_fd, uint64_t grow_bytes)
{
	struct room_storage p;

	return read_storage(fs_fd, grow_bytes, &p) && is_ample(&p);
}

int room_look(int fs_fd, uint64_t grow_bytes, size_t *ret_n)
{
	autofree struct room_use *v = NULL;
	struct room_storage p;

	*ret_n = 0;
	if (!read_storage(fs_fd, grow_bytes, &p))
		return -1;
	size_t n = read_all(fs_fd, &v);

	apply(fs_fd, &p, v, n);
	*ret_n = n;
	return is_ample(&p) ? -1 : NERVOUS_MS + NERVOUS_MS * (int)(n / EACH_MORE);
}
