/* SPDX-License-Identifier: Apache-2.0 */
/* storage: the disk space of the sandboxes. */
#include "engine/disk/storage.h"

#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/rand.h"
#include "base/str.h"
#include "engine/disk/btrfs.h"
#include "engine/disk/loopdev.h"
#include "engine/disk/sweeper.h"
#include "engine/disk/tree.h"
#include "engine/helper.h"
#include "engine/mounts.h"

#define POOL_MIN_BYTES (256ull << 20)
#define LOCK_TRIES 800
#define LOCK_STEP_NS 25000000
#define NAME "pool.img"
#define KEPT '+' /* occurs in no sandbox id */
#define BASES ".bases"
#define GONE "gone-" /* no sandbox id either */
#define KEPT_NAME_SIZE 32
#define KEEP_FREE 16 /* fraction of the storage that checkpoints may not take */
#define ROOM_TRIES 60
#define ROOM_STEP_NS 50000000

struct storage {
	struct storage_config cfg;
	int file_fd, loop_fd, fs_fd, state_fd;
	bool simple_quota;
	struct helper sweeper;
};

static int mkfs(const char *path, struct err *e)
{
	char *argv[] = { "mkfs.btrfs", "-q", "-f", "-K", "-m", "single", "-L", "atoll", (char *)path, NULL };
	char *envp[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL };
	static const char *const where[] = { "/usr/sbin/mkfs.btrfs", "/sbin/mkfs.btrfs", "/usr/bin/mkfs.btrfs" };
	posix_spawn_file_actions_t fa;
	pid_t pid = -1;
	int status, r = ENOENT;

	(void)posix_spawn_file_actions_init(&fa); /* even with -q it prints */
	(void)posix_spawn_file_actions_addopen(&fa, 1, "/dev/null", O_WRONLY, 0);
	for (size_t i = 0; i < ARRAY_LEN(where) && r == ENOENT; i++)
		r = posix_spawn(&pid, where[i], &fa, NULL, argv, envp);
	(void)posix_spawn_file_actions_destroy(&fa);
	if (r != 0)
		return err_set(e, r, "run mkfs.btrfs (package btrfs-progs): %s", strerror(r));
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return err_sys(e, "wait for mkfs.btrfs");
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return err_set(e, EIO, "mkfs.btrfs failed on '%s'", path);
	return 0;
}

/* The file has another name until it is complete: an interrupted first start leaves no half-made storage. */
static int create(struct storage *p, struct err *e)
{
	autofree char *tmp = str_fmt("%s/" NAME ".new", p->cfg.state_dir);
	autofree char *to = str_fmt("%s/" NAME, p->cfg.state_dir);
	autoclose int fd = -1;

	if (!tmp || !to)
		return err_set(e, ENOMEM, "create the pool");
	fd = open(tmp, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_sys(e, "create '%s'", tmp);
	int r = posix_fallocate(fd, 0, (off_t)p->cfg.bytes);

	if (r != 0) {
		(void)unlink(tmp);
		return err_set(e, r, "reserve %llu MiB for '%s': %s", (unsigned long long)(p->cfg.bytes >> 20), to,
		    strerror(r));
	}
	if (mkfs(tmp, e) < 0 || rename(tmp, to) < 0) {
		if (!e->no)
			(void)err_sys(e, "rename '%s'", tmp);
		(void)unlink(tmp);
		return -e->no;
	}
	return 0;
}

/* Locks the directory and not the file: the loop device keeps the file open, with its lock, as long as a sandbox
 * of a killed daemon lives. Builders of a killed daemon also hold the lock until they notice, which takes long for
 * one that waits for a busy disk; hence the long timeout. */
static int lock_state(struct storage *p)
{
	for (int i = 0;; i++) {
		if (flock(p->state_fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK || i >= LOCK_TRIES)
			return -1;
		(void)nanosleep(&(struct timespec) { .tv_nsec = LOCK_STEP_NS }, NULL);
	}
}

static int open_file(struct storage *p, struct err *e)
{
	if (p->cfg.bytes < POOL_MIN_BYTES)
		p->cfg.bytes = POOL_MIN_BYTES;
	p->file_fd = openat(p->state_fd, NAME, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (p->file_fd < 0 && errno == ENOENT) { /* only then: an existing file is never replaced */
		if (create(p, e) < 0)
			return -e->no;
		p->file_fd = openat(p->state_fd, NAME, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	}
	if (p->file_fd < 0)
		return err_sys(e, "open '%s/" NAME "'", p->cfg.state_dir);
	if (lock_state(p) < 0)
		return err_sys(e, "lock '%s' (does another daemon use it?)", p->cfg.state_dir);
	return 0;
}

/* Repairs nothing: an attempt could destroy what is left. */
static int tell_damage(const struct storage *p, int no, struct err *e)
{
	char why[80];

	btrfs_look(p->file_fd, no, why, sizeof why);
	log_error("the storage is damaged, leaving it untouched",
	    "file=%s/" NAME " why='%s' see='The state is damaged' in docs/troubleshooting.md", p->cfg.state_dir, why);
	return err_set(e, no,
	    "'%s/" NAME "' is damaged (%s), and was left as it is: restore a backup, or see docs/troubleshooting.md",
	    p->cfg.state_dir, why);
}

static int mount_storage(struct storage *p, struct err *e)
{
	char source[32];
	int number;

	if (loopdev_attach(p->file_fd, p->cfg.node_fd, &number, &p->loop_fd, e) < 0)
		return -e->no;
	(void)snprintf(source, sizeof source, "/proc/self/fd/%d", p->loop_fd);
	if (mount(source, p->cfg.mount_at, "btrfs", MS_NOATIME | MS_NODEV | MS_NOSUID, "nodiscard") < 0)
		return errno == EINVAL || errno == EIO || errno == EUCLEAN
		    ? tell_damage(p, errno, e)
		    : err_sys(e, "mount loop%d on '%s'", number, p->cfg.mount_at);
	p->fs_fd = open(p->cfg.mount_at, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->fs_fd < 0)
		return err_sys(e, "open '%s'", p->cfg.mount_at);
	if (btrfs_metadata_room(p->fs_fd, e) < 0)
		return -e->no;
	return btrfs_quota_enable(p->fs_fd, &p->simple_quota, e);
}

static int open_plain(struct storage *p, struct err *e)
{
	if (mkdirat(p->state_fd, "uppers", 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make 'uppers'");
	p->fs_fd = openat(p->state_fd, "uppers", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return p->fs_fd < 0 ? err_sys(e, "open 'uppers'") : 0;
}

static int start_sweeper(struct storage *p, struct err *e)
{
	struct stat st = { 0 };

	if (p->file_fd >= 0 && fstat(p->file_fd, &st) < 0)
		return err_sys(e, "look at the pool file");
	return sweeper_start(
	    &(struct sweeper_job) { p->fs_fd, p->file_fd, p->loop_fd, (uint64_t)st.st_size, p->cfg.max_bytes },
	    &p->sweeper, e);
}

int storage_open(const struct storage_config *cfg, struct storage **ret, struct err *e)
{
	struct storage *p = malloc(sizeof *p);
	int r;

	if (!p)
		return err_set(e, ENOMEM, "open the pool");
	*p = (struct storage) { .cfg = *cfg, .file_fd = -1, .loop_fd = -1, .fs_fd = -1, .sweeper = HELPER_NONE };
	p->state_fd = open(cfg->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->state_fd < 0)
		r = err_sys(e, "open '%s'", cfg->state_dir);
	else if (cfg->plain)
		r = open_plain(p, e);
	else
		r = open_file(p, e);
	if (r >= 0 && !cfg->plain)
		r = mount_storage(p, e);
	if (r >= 0)
		r = start_sweeper(p, e);
	if (r < 0) {
		storage_close(p, true);
		return err_wrap(e, "open the pool");
	}
	*ret = p;
	return 0;
}

void storage_close(struct storage *p, bool unmount)
{
	if (!p)
		return;
	helper_stop(&p->sweeper);
	bool mounted = p->fs_fd >= 0 && !p->cfg.plain;

	fd_close(p->fs_fd);
	if (mounted && unmount && umount2(p->cfg.mount_at, MNT_DETACH) < 0)
		log_warn("could not unmount the storage", "at=%s", p->cfg.mount_at);
	fd_close(p->loop_fd);
	fd_close(p->file_fd);
	fd_close(p->state_fd);
	free(p);
}

int storage_bases(struct storage *p, int *ret_fd, struct err *e)
{
	*ret_fd = -1;
	if (p->cfg.plain)
		return 0;
	if (mkdirat(p->fs_fd, BASES, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make '" BASES "'");
	/* Opened through a detached mount: /proc/PID/maps of a sandbox shows the path of these files, and this way
	 * the path begins at the storage and does not reveal where on the host that is. */
	autoclose int clone = -1;

	if (mount_clone(p->fs_fd, "", 0, &clone, e) < 0)
		return -e->no;
	*ret_fd = openat(clone, BASES, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return *ret_fd < 0 ? err_sys(e, "open '" BASES "'") : 0;
}

int storage_make(struct storage *p, const char *id, uint64_t disk_bytes, int *ret_fd, struct err *e)
{
	autoclose int fd = -1;

	if (p->cfg.plain && mkdirat(p->fs_fd, id, 0755) < 0)
		return err_sys(e, "make directory '%s'", id);
	if (!p->cfg.plain && btrfs_subvol_create(p->fs_fd, id, e) < 0)
		return -e->no;
	fd = openat(p->fs_fd, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	/* u becomes the sandbox's "/", which shows its mode and owner. */
	if (fd < 0 || mkdirat(fd, "u", 0755) < 0 || mkdirat(fd, "w", 0700) < 0)
		return err_sys(e, "fill directory '%s'", id);
	if (!p->cfg.plain && disk_bytes && btrfs_limit(fd, disk_bytes, e) < 0)
		return -e->no;
	*ret_fd = take_fd(&fd);
	return 0;
}

/* --- what outlives a sandbox -------------------------------------------------------------------------------- */

/* The last one exists while a backup is made. */
enum kept { KEPT_DISK = 'd', KEPT_MEMORY = 'm', KEPT_VOLUME = 'v', KEPT_BACKUP = 'b' };

static void kept_name(char z[KEPT_NAME_SIZE], const char *name, enum kept what)
{
	(void)snprintf(z, KEPT_NAME_SIZE, "%s%c%c", name, KEPT, (char)what);
}

static int needs_btrfs(const struct storage *p, struct err *e)
{
	return p->cfg.plain ? err_set(e, ENOTSUP, "without a pool nothing of a sandbox can be kept (no_pool is set)")
			    : 0;
}

static bool is_there(const struct storage *p, const char *name, enum kept what, const char *file)
{
	char path[KEPT_NAME_SIZE + 16];

	kept_name(path, name, what);
	(void)strncat(path, file, sizeof path - strlen(path) - 1);
	return faccessat(p->fs_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int open_kept(struct storage *p, const char *name, enum kept what, int *ret_fd, struct err *e)
{
	char z[KEPT_NAME_SIZE];

	kept_name(z, name, what);
	*ret_fd = openat(p->fs_fd, z, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return *ret_fd < 0 ? err_sys(e, "open '%s'", z) : 0;
}

int storage_keep_disk(struct storage *p, const char *id, const char *name, struct err *e)
{
	char z[KEPT_NAME_SIZE];
	autoclose int fd = -1;

	if (needs_btrfs(p, e) < 0)
		return -e->no;
	fd = openat(p->fs_fd, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return err_sys(e, "open directory '%s'", id);
	kept_name(z, name, KEPT_DISK);
	return btrfs_snapshot(fd, p->fs_fd, z, true, e);
}

/* A helper of a killed warden may have left an incomplete checkpoint: if it is still working, it holds the lock. */
static int clear_half(struct storage *p, const char *name, int *ret_fd, struct err *e)
{
	char z[KEPT_NAME_SIZE];
	autoclose int fd = -1;

	if (open_kept(p, name, KEPT_MEMORY, &fd, e) < 0) {
		bool absent = e->no == ENOENT;

		*e = absent ? ERR_INIT : *e;
		return absent ? 0 : -e->no;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return err_set(e, EBUSY, "'%s' is being written", name);
	if (is_there(p, name, KEPT_MEMORY, "/record")) {
		*ret_fd = take_fd(&fd);
		return err_set(e, EEXIST, "'%s' is there already", name);
	}
	kept_name(z, name, KEPT_MEMORY);
	int r = sweeper_remove_now(p->fs_fd, z);

	return r < 0 ? err_set(e, -r, "remove '%s': %s", z, strerror(-r)) : 0;
}

int storage_keep_memory(struct storage *p, const char *name, int *ret_fd, struct err *e)
{
	char z[KEPT_NAME_SIZE];
	autoclose int fd = -1;

	if (needs_btrfs(p, e) < 0 || clear_half(p, name, ret_fd, e) < 0)
		return -e->no;
	kept_name(z, name, KEPT_MEMORY);
	if (btrfs_subvol_create(p->fs_fd, z, e) < 0 || open_kept(p, name, KEPT_MEMORY, &fd, e) < 0)
		return -e->no;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return err_sys(e, "lock '%s'", z);
	*ret_fd = take_fd(&fd);
	return 0;
}

int storage_kept_memory(struct storage *p, const char *name, int *ret_fd, struct err *e)
{
	return open_kept(p, name, KEPT_MEMORY, ret_fd, e);
}

/* The overlay's own metadata does not fit a copy: the kernel would refuse a directory that was mounted volatile
 * (work/incompat), and the index belongs to the original. */
static int clear_work(int fd)
{
	autoclose int w = openat(fd, "w", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (w < 0)
		return -errno;
	int r = tree_remove(w, "work"), s = tree_remove(w, "index");

	return r < 0 && r != -ENOENT ? r : s < 0 && s != -ENOENT ? s : 0;
}

int storage_make_from(struct storage *p, const char *name, const char *id, uint64_t disk_bytes, int *ret_fd,
    struct err *e)
{
	autoclose int from = -1, fd = -1;

	if (needs_btrfs(p, e) < 0 || open_kept(p, name, KEPT_DISK, &from, e) < 0 ||
	    btrfs_snapshot(from, p->fs_fd, id, false, e) < 0)
		return -e->no;
	fd = openat(p->fs_fd, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return err_sys(e, "open directory '%s'", id);
	int r = clear_work(fd);

	if (r < 0)
		return err_set(e, -r, "prepare directory '%s': %s", id, strerror(-r));
	if (disk_bytes && btrfs_limit(fd, disk_bytes, e) < 0)
		return -e->no;
	*ret_fd = take_fd(&fd);
	return 0;
}

/* Reports each name once: by its disk, or by a memory that lost its disk. */
int storage_kept(struct storage *p, void (*fn)(void *arg, const char *name, bool disk, bool memory), void *arg,
    struct err *e)
{
	int fd = openat(p->fs_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d) {
		fd_close(fd);
		return err_sys(e, "read the pool");
	}
	for (struct dirent *de; (de = readdir(d));) {
		char *at = strchr(de->d_name, KEPT);

		if (!at || !at[1] || at[2])
			continue;
		enum kept what = (enum kept)at[1];

		*at = '\0';
		if (what == KEPT_DISK || (what == KEPT_MEMORY && !is_there(p, de->d_name, KEPT_DISK, "")))
			fn(arg, de->d_name, what == KEPT_DISK, is_there(p, de->d_name, KEPT_MEMORY, "/record"));
	}
	(void)closedir(d);
	return 0;
}

/* Leaves a margin for the sandboxes: a full file system would hurt those that run. */
static bool has_room(const struct storage *p, uint64_t bytes, uint64_t *ret_free)
{
	struct statvfs fs;

	if (fstatvfs(p->fs_fd, &fs) < 0)
		return false;
	*ret_free = (uint64_t)fs.f_bavail * fs.f_frsize;
	return *ret_free >= bytes + (uint64_t)fs.f_blocks * fs.f_frsize / KEEP_FREE;
}

void storage_size(const struct storage *p, uint64_t *ret_bytes, uint64_t *ret_free, uint64_t *ret_grow)
{
	struct statvfs fs;
	struct stat st;

	*ret_bytes = *ret_free = *ret_grow = 0;
	if (p->cfg.plain || fstatvfs(p->fs_fd, &fs) < 0)
		return;
	*ret_bytes = (uint64_t)fs.f_blocks * fs.f_frsize;
	*ret_free = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (fstat(p->file_fd, &st) == 0 && p->cfg.max_bytes > (uint64_t)st.st_size)
		*ret_grow = p->cfg.max_bytes - (uint64_t)st.st_size;
}

int storage_make_room(struct storage *p, uint64_t bytes, struct err *e)
{
	uint64_t free_bytes = 0;

	for (int i = 0; !has_room(p, bytes, &free_bytes); i++) {
		if (i == ROOM_TRIES)
			return err_set(e, ENOSPC, "the pool has %llu MiB free, and %llu are wanted",
			    (unsigned long long)(free_bytes >> 20), (unsigned long long)(bytes >> 20));
		if (i == 0)
			sweeper_want_room(&p->sweeper, bytes + bytes / 4);
		(void)nanosleep(&(struct timespec) { .tv_nsec = ROOM_STEP_NS }, NULL);
	}
	return 0;
}

int storage_forget(struct storage *p, const char *name, struct err *e)
{
	static const enum kept both[] = { KEPT_DISK, KEPT_MEMORY };
	char z[KEPT_NAME_SIZE];

	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		kept_name(z, name, both[i]);
		if (storage_remove(p, z, e) < 0)
			return -e->no;
	}
	return 0;
}

int storage_forget_memory(struct storage *p, const char *name, struct err *e)
{
	char z[KEPT_NAME_SIZE];

	kept_name(z, name, KEPT_MEMORY);
	return storage_remove(p, z, e);
}

/* --- volumes ------------------------------------------------------------------------------------------------ */

int storage_volume_open(struct storage *p, const char *name, int *ret_fd, struct err *e)
{
	return open_kept(p, name, KEPT_VOLUME, ret_fd, e);
}

/* Every user in a sandbox may write at its top, as in /tmp, because no user is the same in all sandboxes. */
int storage_volume_set(struct storage *p, const char *name, uint64_t bytes, struct err *e)
{
	char z[KEPT_NAME_SIZE];
	autoclose int fd = -1;

	kept_name(z, name, KEPT_VOLUME);
	if (p->cfg.plain && mkdirat(p->fs_fd, z, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make directory '%s'", z);
	if (!p->cfg.plain && faccessat(p->fs_fd, z, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
	    btrfs_subvol_create(p->fs_fd, z, e) < 0)
		return -e->no;
	if (open_kept(p, name, KEPT_VOLUME, &fd, e) < 0)
		return -e->no;
	if (fchmod(fd, 0777) < 0)
		return err_sys(e, "open '%s' to all", z);
	if (!p->cfg.plain && btrfs_limit(fd, bytes ? bytes : UINT64_MAX, e) < 0)
		return -e->no;
	return fsync(fd) < 0 ? err_sys(e, "write '%s' to disk", z) : 0;
}

int storage_volume_drop(struct storage *p, const char *name, struct err *e)
{
	char z[KEPT_NAME_SIZE];

	kept_name(z, name, KEPT_VOLUME);
	return storage_remove(p, z, e);
}

int storage_volumes(struct storage *p, void (*fn)(void *arg, const char *name, uint64_t used_bytes), void *arg,
    struct err *e)
{
	int fd = openat(p->fs_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d) {
		fd_close(fd);
		return err_sys(e, "read the pool");
	}
	for (struct dirent *de; (de = readdir(d));) {
		char *at = strchr(de->d_name, KEPT);
		uint64_t used = 0;

		if (!at || at[1] != KEPT_VOLUME || at[2])
			continue;
		(void)storage_usage(p, de->d_name, &used);
		*at = '\0';
		fn(arg, de->d_name, used);
	}
	(void)closedir(d);
	return 0;
}

int storage_for_helper(struct storage *p)
{
	p->sweeper = (struct helper)HELPER_NONE;
	p->state_fd = p->file_fd = p->loop_fd = -1;
	return p->fs_fd;
}

/* Renames the directory at once, so that a new one of the same name (of a sandbox that is resumed) neither finds
 * it in its way nor is deleted in its place by the sweeper. The next start deletes leftovers with that prefix. */
int storage_remove(struct storage *p, const char *id, struct err *e)
{
	char gone[32] = GONE;

	rand_hex(gone + strlen(GONE), 16);
	if (renameat(p->fs_fd, id, p->fs_fd, gone) < 0)
		return errno == ENOENT ? 0 : err_sys(e, "remove directory '%s'", id);
	int r = sweeper_remove(&p->sweeper, gone);

	if (r == -EPIPE || r == -EBADF) /* it has died, or is not ours: delete synchronously, so as not to leak */
		r = sweeper_remove_now(p->fs_fd, gone);
	else if (r < 0)
		(void)renameat(p->fs_fd, gone, p->fs_fd, id); /* for the next attempt */
	return r < 0 ? err_set(e, -r, "remove directory '%s': %s", id, strerror(-r)) : 0;
}

int storage_limit(struct storage *p, const char *id, uint64_t disk_bytes, struct err *e)
{
	if (p->cfg.plain)
		return 0;
	autoclose int fd = openat(p->fs_fd, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? err_sys(e, "open directory '%s'", id) : btrfs_limit(fd, disk_bytes, e);
}

uint64_t storage_device(const struct storage *p)
{
	struct stat st;

	return p->loop_fd >= 0 && fstat(p->loop_fd, &st) == 0 ? st.st_rdev : 0;
}

int storage_lock(struct storage *p, const char *id, int *ret_fd, struct err *e)
{
	autoclose int fd = openat(p->fs_fd, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return err_sys(e, "open directory '%s'", id);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? err_set(e, EBUSY, "its memory is being read")
					    : err_sys(e, "lock directory '%s'", id);
	*ret_fd = take_fd(&fd);
	return 0;
}

int storage_usage(struct storage *p, const char *id, uint64_t *ret_bytes)
{
	uint64_t subvol;
	autoclose int fd = openat(p->fs_fd, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return -errno;
	if (p->cfg.plain)
		return -ENOTSUP;
	int r = btrfs_subvol_id(fd, &subvol);

	return r < 0 ? r : btrfs_usage(p->fs_fd, subvol, ret_bytes);
}

void storage_keep_only(struct storage *p, bool (*keep)(const char *id, void *arg), void *arg)
{
	int fd = openat(p->fs_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d) {
		fd_close(fd);
		return;
	}
	for (struct dirent *de; (de = readdir(d));) {
		const char *at = strchr(de->d_name, KEPT);

		/* Of the named ones, delete only copies for a backup that was interrupted. */
		if (de->d_name[0] == '.' || (at ? at[1] != KEPT_BACKUP : keep(de->d_name, arg)))
			continue;
		int r = sweeper_remove_now(p->fs_fd, de->d_name);

		if (r < 0)
			log_warn("could not remove a leftover directory", "id=%s err=%s", de->d_name, strerror(-r));
	}
	(void)closedir(d);
}

void storage_tick(struct storage *p)
{
	struct err e;

	if (!helper_alive(&p->sweeper)) {
		if (start_sweeper(p, &e) < 0)
			log_error("storage sweeper is not running, retrying", "err=%s", e.text);
		else
			log_warn("storage sweeper exited and was restarted", "pid=%d", (int)p->sweeper.pid);
	}
	sweeper_tick(&p->sweeper);
}
