/* SPDX-License-Identifier: Apache-2.0 */
/* landlock: the kernel interface by number, since it is newer than the headers of some C libraries. */
#include "base/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

#define CREATE_VERSION 1u
#define RULE_PATH_BENEATH 1

#define FS_WRITE_FILE (1ull << 1)
#define FS_READ_FILE (1ull << 2)
#define FS_READ_DIR (1ull << 3)
#define FS_REMOVE_FILE (1ull << 5)
#define FS_MAKE_REG (1ull << 8)
#define FS_TRUNCATE (1ull << 14)

#define FS_ALL_1 ((1ull << 13) - 1)
#define NET_BIND_TCP 1ull
#define NET_CONNECT_TCP 2ull
#define SCOPE_ALL 3ull

#define FS_OF_FILES (FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE) /* valid in a rule for a regular file */

struct ruleset_attr {
	uint64_t fs, net, scoped;
};

struct path_attr {
	uint64_t access;
	int32_t fd;
} __attribute__((packed));

int landlock_abi(void)
{
	long v = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);

	return v < 0 ? 0 : (int)v;
}

/* By ABI version: REFER (2), TRUNCATE (3), TCP (4), IOCTL_DEV (5), scopes (6). */
static struct ruleset_attr handled(int abi, unsigned flags, size_t *ret_size)
{
	struct ruleset_attr a = { .fs = FS_ALL_1 };

	*ret_size = sizeof a.fs;
	if (abi >= 2)
		a.fs |= 1ull << 13;
	if (abi >= 3)
		a.fs |= FS_TRUNCATE;
	if (abi >= 5)
		a.fs |= 1ull << 15;
	if (abi >= 4) {
		a.net = NET_BIND_TCP | (flags & LANDLOCK_MAY_CONNECT ? 0 : NET_CONNECT_TCP);
		*ret_size = sizeof a.fs + sizeof a.net;
	}
	if (abi >= 6) {
		a.scoped = SCOPE_ALL;
		*ret_size = sizeof a;
	}
	return a;
}

static int add_path(int set, const struct landlock_path *p, uint64_t known)
{
	autoclose int fd = open(p->path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	uint64_t access = 0;

	if (p->access & LANDLOCK_READ_FILES)
		access |= FS_READ_FILE | FS_READ_DIR;
	if (p->access & LANDLOCK_CHANGE_FILES)
		access |= FS_WRITE_FILE | FS_TRUNCATE | FS_MAKE_REG | FS_REMOVE_FILE;
	if (!S_ISDIR(st.st_mode))
		access &= FS_OF_FILES;
	struct path_attr rule = { .access = access & known, .fd = fd };

	return syscall(SYS_landlock_add_rule, set, RULE_PATH_BENEATH, &rule, 0) < 0 ? -errno : 0;
}

int landlock_confine(const struct landlock_path *paths, size_t n, unsigned flags)
{
	int abi = landlock_abi();
	size_t size;

	if (abi < 1)
		return -ENOSYS;
	struct ruleset_attr a = handled(abi, flags, &size);
	autoclose int set = (int)syscall(SYS_landlock_create_ruleset, &a, size, 0);

	if (set < 0)
		return -errno;
	for (size_t i = 0; i < n; i++) {
		int r = add_path(set, &paths[i], a.fs);

		if (r < 0)
			return r;
	}
	return syscall(SYS_landlock_restrict_self, set, 0) < 0 ? -errno : 0;
}
