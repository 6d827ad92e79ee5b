/* SPDX-License-Identifier: Apache-2.0 */
/* btrfs: subvolumes, their quota and the size of the file system, by ioctl. */
#include "engine/disk/btrfs.h"

#include <endian.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/str.h"

#ifndef BTRFS_QUOTA_CTL_ENABLE_SIMPLE_QUOTA /* Linux 6.7 */
#define BTRFS_QUOTA_CTL_ENABLE_SIMPLE_QUOTA 4
#endif

#define SEARCH_BUF (64 << 10)
#define SWEEP_MAX 64 /* counters removed per call: each is a small transaction */
#define METADATA_MIN (32ull << 20)
#define SPACES_MAX 16
#define SUPER_AT 65536  /* offset of the superblock, */
#define SUPER_MAGIC 64  /* in it: its magic number, */
#define SUPER_TOTAL 112 /* the total size */
#define MAGIC "_BHRfS_M"

int btrfs_quota_enable(int fs_fd, bool *ret_simple, struct err *e)
{
	struct btrfs_ioctl_quota_ctl_args simple = { .cmd = BTRFS_QUOTA_CTL_ENABLE_SIMPLE_QUOTA };
	struct btrfs_ioctl_quota_ctl_args full = { .cmd = BTRFS_QUOTA_CTL_ENABLE };

	*ret_simple = true;
	if (ioctl(fs_fd, BTRFS_IOC_QUOTA_CTL, &simple) == 0 || errno == EEXIST)
		return 0;
	*ret_simple = false;
	if (ioctl(fs_fd, BTRFS_IOC_QUOTA_CTL, &full) == 0 || errno == EEXIST)
		return 0;
	return err_sys(e, "enable quota");
}

/* Returns the bytes allocated for metadata, used or not. */
static int metadata_total(int fs_fd, uint64_t *ret)
{
	struct {
		struct btrfs_ioctl_space_args head;
		struct btrfs_ioctl_space_info space[SPACES_MAX];
	} a = { .head.space_slots = SPACES_MAX };

	*ret = 0;
	if (ioctl(fs_fd, BTRFS_IOC_SPACE_INFO, &a) < 0)
		return -1;
	for (uint64_t i = 0; i < a.head.total_spaces && i < SPACES_MAX; i++) {
		uint64_t flags = a.space[i].flags;

		if ((flags & BTRFS_BLOCK_GROUP_METADATA) && !(flags & BTRFS_SPACE_INFO_GLOBAL_RSV))
			*ret += a.space[i].total_bytes;
	}
	return 0;
}

/* mkfs leaves one chunk of 8 MiB for metadata. A sandbox that writes up to its limit within a second turns all the
 * rest into data chunks, and then no other can create a file although half of the disk is free. Balancing the
 * metadata gives it a chunk of the usual size (a tenth of the disk); on a new file system that takes no time. */
int btrfs_metadata_room(int fs_fd, struct err *e)
{
	struct btrfs_ioctl_balance_args a = { .flags = BTRFS_BALANCE_METADATA };
	uint64_t bytes;

	if (metadata_total(fs_fd, &bytes) < 0)
		return err_sys(e, "read the space of the pool");
	if (bytes >= METADATA_MIN)
		return 0;
	if (ioctl(fs_fd, BTRFS_IOC_BALANCE_V2, &a) < 0 && errno != ENOSPC) /* full: leave it as it was made */
		return err_sys(e, "make room for metadata");
	return 0;
}

/* The kernel makes a file system read-only when it finds damage. */
static int fail(struct err *e, const char *what, const char *name)
{
	if (errno == EROFS)
		return err_set(e, EROFS,
		    "the pool is read-only, because the kernel found it damaged: see its log, and 'The state is "
		    "damaged' in docs/troubleshooting.md");
	return err_sys(e, "%s '%s'", what, name);
}

int btrfs_subvol_create(int dirfd, const char *name, struct err *e)
{
	struct btrfs_ioctl_vol_args_v2 a = { 0 };

	if (!str_copy(a.name, sizeof a.name, str_of(name)))
		return err_set(e, ENAMETOOLONG, "create subvolume '%s'", name);
	if (ioctl(dirfd, BTRFS_IOC_SUBVOL_CREATE_V2, &a) < 0)
		return fail(e, "create subvolume", name);
	return 0;
}

int btrfs_snapshot(int subvol_fd, int dirfd, const char *name, bool read_only, struct err *e)
{
	struct btrfs_ioctl_vol_args_v2 a = { .fd = subvol_fd, .flags = read_only ? BTRFS_SUBVOL_RDONLY : 0 };

	if (!str_copy(a.name, sizeof a.name, str_of(name)))
		return err_set(e, ENAMETOOLONG, "make snapshot '%s'", name);
	if (ioctl(dirfd, BTRFS_IOC_SNAP_CREATE_V2, &a) < 0)
		return fail(e, "make snapshot", name);
	return 0;
}

int btrfs_subvol_delete(int dirfd, const char *name)
{
	struct btrfs_ioctl_vol_args a = { 0 };

	if (!str_copy(a.name, sizeof a.name, str_of(name)))
		return -ENAMETOOLONG;
	return ioctl(dirfd, BTRFS_IOC_SNAP_DESTROY, &a) < 0 ? -errno : 0;
}

int btrfs_subvol_id(int fd, uint64_t *ret)
{
	struct btrfs_ioctl_ino_lookup_args a = { .objectid = BTRFS_FIRST_FREE_OBJECTID };

	if (ioctl(fd, BTRFS_IOC_INO_LOOKUP, &a) < 0)
		return -errno;
	*ret = a.treeid;
	return 0;
}

int btrfs_limit(int subvol_fd, uint64_t bytes, struct err *e)
{
	/* qgroupid 0: the subvolume that the fd is in */
	struct btrfs_ioctl_qgroup_limit_args a = { .lim = { .flags = BTRFS_QGROUP_LIMIT_MAX_RFER, .max_rfer = bytes } };

	if (ioctl(subvol_fd, BTRFS_IOC_QGROUP_LIMIT, &a) < 0)
		return err_sys(e, "limit the disk space");
	return 0;
}

struct search {
	union {
		struct btrfs_ioctl_search_args_v2 a;
		char room[sizeof(struct btrfs_ioctl_search_args_v2) + SEARCH_BUF];
	};
};

/* Searches one tree for items with keys from (objectid, type, offset) to (objectid, type, end). Returns their
 * number. */
static int search(int fd, struct search *s, uint64_t tree, uint64_t objectid, uint32_t type, uint64_t offset,
    uint64_t end)
{
	memset(&s->a, 0, sizeof s->a);
	s->a.key = (struct btrfs_ioctl_search_key) {
		.tree_id = tree,
		.min_objectid = objectid,
		.max_objectid = objectid,
		.min_type = type,
		.max_type = type,
		.min_offset = offset,
		.max_offset = end,
		.max_transid = UINT64_MAX,
		.nr_items = 4096,
	};
	s->a.buf_size = SEARCH_BUF;
	return ioctl(fd, BTRFS_IOC_TREE_SEARCH_V2, &s->a) < 0 ? -errno : (int)s->a.key.nr_items;
}

static int btrfs_node_size(int fs_fd, uint64_t *ret)
{
	struct btrfs_ioctl_fs_info_args a = { 0 };

	if (ioctl(fs_fd, BTRFS_IOC_FS_INFO, &a) < 0)
		return -errno;
	*ret = a.nodesize;
	return 0;
}

int btrfs_usage(int fs_fd, uint64_t subvol, uint64_t *ret_bytes)
{
	autofree struct search *s = malloc(sizeof *s);
	struct btrfs_ioctl_search_header h;
	struct btrfs_qgroup_info_item item;

	if (!s)
		return -ENOMEM;
	int n = search(fs_fd, s, BTRFS_QUOTA_TREE_OBJECTID, 0, BTRFS_QGROUP_INFO_KEY, subvol, subvol);

	if (n <= 0)
		return n < 0 ? n : -ENOENT;
	memcpy(&h, s->a.buf, sizeof h);
	if (h.len < sizeof item)
		return -ENOENT;
	memcpy(&item, (char *)s->a.buf + sizeof h, sizeof item);
	*ret_bytes = le64toh(item.rfer);
	/* The kernel updates the counter when it commits. Until the first commit, a new subvolume has a root node
	 * that is not counted yet. */
	return *ret_bytes ? 0 : btrfs_node_size(fs_fd, ret_bytes);
}

static bool subvol_exists(int fs_fd, uint64_t id, struct search *s)
{
	memset(&s->a, 0, sizeof s->a);
	s->a.key = (struct btrfs_ioctl_search_key) {
		.tree_id = BTRFS_ROOT_TREE_OBJECTID,
		.min_objectid = id,
		.max_objectid = id,
		.min_type = BTRFS_ROOT_ITEM_KEY,
		.max_type = BTRFS_ROOT_ITEM_KEY,
		.max_offset = UINT64_MAX,
		.max_transid = UINT64_MAX,
		.nr_items = 1,
	};
	s->a.buf_size = SEARCH_BUF;
	return ioctl(fs_fd, BTRFS_IOC_TREE_SEARCH_V2, &s->a) < 0 || s->a.key.nr_items > 0;
}

static bool qgroup_destroy(int fs_fd, uint64_t id)
{
	struct btrfs_ioctl_qgroup_create_args a = { .create = 0, .qgroupid = id };

	return ioctl(fs_fd, BTRFS_IOC_QGROUP_CREATE, &a) == 0;
}

int btrfs_qgroup_sweep(int fs_fd, uint64_t *below)
{
	autofree struct search *s = malloc(2 * sizeof *s);
	uint64_t from = BTRFS_FIRST_FREE_OBJECTID, last = UINT64_MAX >> 16; /* higher levels are not ours */
	int left = 0, done = 0;

	if (!s)
		return -ENOMEM;
	for (;;) {
		int n = search(fs_fd, s, BTRFS_QUOTA_TREE_OBJECTID, 0, BTRFS_QGROUP_INFO_KEY, from, last);
		const char *p = (const char *)s->a.buf;

		if (n <= 0) {
			/* ids only grow: counters seen now are older than all later ones */
			*below = from;
			return n < 0 ? n : left;
		}
		for (int i = 0; i < n; i++) {
			struct btrfs_ioctl_search_header h;

			memcpy(&h, p, sizeof h);
			p += sizeof h + h.len;
			from = h.offset + 1;
			if (subvol_exists(fs_fd, h.offset, s + 1))
				continue;
			if (h.offset < *below && done < SWEEP_MAX && qgroup_destroy(fs_fd, h.offset))
				done++;
			else
				left++;
		}
	}
}

int btrfs_resize_max(int fs_fd)
{
	struct btrfs_ioctl_vol_args a = { .name = "1:max" };

	return ioctl(fs_fd, BTRFS_IOC_RESIZE, &a) < 0 ? -errno : 0;
}

/* --- damage ------------------------------------------------------------------------------------------------- */

void btrfs_look(int file_fd, int no, char *ret, size_t size)
{
	struct stat st;
	uint64_t total;
	char super[SUPER_TOTAL + sizeof total];

	if (fstat(file_fd, &st) < 0 || pread(file_fd, super, sizeof super, SUPER_AT) != (ssize_t)sizeof super ||
	    memcmp(super + SUPER_MAGIC, MAGIC, strlen(MAGIC)) != 0) {
		(void)snprintf(ret, size, "there is no file system in it");
		return;
	}
	memcpy(&total, super + SUPER_TOTAL, sizeof total);
	total = le64toh(total);
	if ((uint64_t)st.st_size < total)
		(void)snprintf(ret, size, "%llu of %llu MiB are there", (unsigned long long)st.st_size >> 20,
		    (unsigned long long)total >> 20);
	else
		(void)snprintf(ret, size, "%s", strerror(no));
}
