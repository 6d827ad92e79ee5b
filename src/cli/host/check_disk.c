/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/check_disk: overlay, idmapped mounts, btrfs, loop devices, space. */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/defaults.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli/child.h"
#include "cli/host/check.h"
#include "cli/host/conffile.h"
#include "cli/paths.h"
#include "cli/template/template.h"

#define MIB (1024ull * 1024)

/* <sys/mount.h> and <linux/mount.h> conflict on some versions of libc. */
static int do_mount(const char *what, const char *where, const char *type, unsigned long flags, const char *data)
{
	return syscall(SYS_mount, what, where, type, flags, data) < 0 ? -errno : 0;
}

static int own_mounts(void)
{
	if (unshare(CLONE_NEWNS) < 0)
		return -errno;
	return do_mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

static int probe_overlay(void *arg)
{
	static const char *const dirs[] = { "/tmp/lower", "/tmp/upper", "/tmp/work", "/tmp/merged" };
	int rc = own_mounts();

	(void)arg;
	if (rc == 0)
		rc = do_mount("tmpfs", "/tmp", "tmpfs", 0, NULL);
	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(dirs); i++)
		rc = mkdir(dirs[i], 0755) < 0 ? -errno : 0;
	return rc < 0
	    ? rc
	    : do_mount("overlay", dirs[3], "overlay", 0, "lowerdir=/tmp/lower,upperdir=/tmp/upper,workdir=/tmp/work");
}

void check_overlay(const struct check_host *h, struct check_result *r)
{
	(void)h;
	if (!check_is_root(r))
		return;
	int rc = child_probe(probe_overlay, NULL);
	if (rc == 0) {
		check_found(r, CHECK_OK, "can be mounted");
		return;
	}
	check_found(r, CHECK_FAIL, "cannot be mounted: %s", strerrordesc_np(-rc));
	check_remedy(r,
	    rc == -ENODEV ? "modprobe overlay; if the module is missing, boot a distribution kernel"
			  : "run atoll on the host, not in a container without mount privileges");
}

/* --- idmapped mounts --- */

/* Returns the nearest parent directory that exists. */
static char *existing_parent(const char *path)
{
	char *z = path_absolute(path);

	while (z && strcmp(z, "/") != 0 && access(z, F_OK) < 0) {
		char *slash = strrchr(z, '/');

		slash[slash == z] = '\0';
	}
	return z;
}

/* Returns an fd of a new user namespace with its own id map. Its only process is *ret_pid, which the caller kills. */
static int make_userns(pid_t *ret_pid)
{
	char path[64], ready = 0;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	*ret_pid = fork();
	if (*ret_pid == 0) {
		if (unshare(CLONE_NEWUSER) < 0 || write(fds[1], "r", 1) != 1)
			_exit(1);
		(void)alarm(10);
		for (;;)
			(void)pause();
	}
	fd_close(fds[1]);
	int rc = *ret_pid < 0 ? -errno : fd_read_all(fds[0], &ready, 1);
	fd_close(fds[0]);
	if (rc < 0)
		return rc;
	(void)snprintf(path, sizeof(path), "/proc/%d/uid_map", *ret_pid);
	rc = file_write(AT_FDCWD, path, "0 100000 65536");
	(void)snprintf(path, sizeof(path), "/proc/%d/gid_map", *ret_pid);
	if (rc == 0)
		rc = file_write(AT_FDCWD, path, "0 100000 65536");
	if (rc < 0)
		return rc;
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", *ret_pid);
	int ns = open(path, O_RDONLY | O_CLOEXEC);
	return ns < 0 ? -errno : ns;
}

static int probe_idmap(void *arg)
{
	pid_t holder = -1;
	int rc = own_mounts();
	autoclose int ns = rc < 0 ? rc : make_userns(&holder);
	autoclose int tree = -1;

	rc = ns < 0 ? ns : 0;
	if (rc == 0) {
		tree = (int)syscall(SYS_open_tree, AT_FDCWD, arg, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
		rc = tree < 0 ? -errno : 0;
	}
	if (rc == 0) {
		struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)ns };

		rc = syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0 ? -errno : 0;
	}
	if (holder > 0) {
		(void)kill(holder, SIGKILL);
		(void)waitpid(holder, NULL, 0);
	}
	return rc;
}

void check_idmap(const struct check_host *h, struct check_result *r)
{
	if (!check_is_root(r))
		return;
	autofree char *dir = existing_parent(h->cache);
	int rc = dir ? child_probe(probe_idmap, dir) : -ENOMEM;

	if (rc == 0) {
		check_found(r, CHECK_OK, "work on the file system of '%s'", h->cache);
		return;
	}
	check_found(r, CHECK_FAIL, "do not work on the file system of '%s': %s", h->cache, strerrordesc_np(-rc));
	if (rc == -EINVAL)
		check_remedy(r, "put the template cache on ext4, xfs or btrfs: set ATOLL_CACHE to a directory there");
	else
		check_remedy(r, "run atoll on the host with full root privileges");
}

/* --- the storage --- */

static bool kernel_has_fs(const char *name)
{
	char text[4096], path[128];
	autofree char *word = str_fmt("\t%s\n", name);
	autofree char *module = str_fmt("/%s.ko", name);
	struct utsname u;

	if (word && file_read(AT_FDCWD, "/proc/filesystems", text, sizeof(text)) > 0 && strstr(text, word))
		return true;
	(void)uname(&u);
	(void)snprintf(path, sizeof(path), "/lib/modules/%.65s/modules.dep", u.release);
	FILE *f = fopen(path, "re");
	bool found = false;
	while (f && module && !found && fgets(text, sizeof(text), f))
		found = strstr(text, module) != NULL;
	if (f)
		(void)fclose(f);
	return found;
}

void check_btrfs(const struct check_host *h, struct check_result *r)
{
	(void)h;
	if (!kernel_has_fs("btrfs")) {
		check_found(r, CHECK_WARN, "the kernel lacks btrfs: sandboxes run, but without disk limits");
		check_remedy(r, "boot a kernel with btrfs (on Ubuntu: install linux-modules-extra-$(uname -r))");
	} else if (!child_has_program("mkfs.btrfs")) {
		check_found(r, CHECK_WARN,
		    "mkfs.btrfs is missing: the storage pool for sandbox disks cannot be created");
		check_remedy(r, "apt-get install btrfs-progs");
	} else {
		check_found(r, CHECK_OK, "kernel support and tools are available");
	}
}

void check_loop(const struct check_host *h, struct check_result *r)
{
	(void)h;
	if (access("/dev/loop-control", F_OK) < 0) {
		check_found(r, CHECK_WARN, "/dev/loop-control is missing: sandboxes run, but without disk limits");
		check_remedy(r, "modprobe loop; in a container, pass the loop devices to it");
	} else if (geteuid() == 0 && access("/dev/loop-control", R_OK | W_OK) < 0) {
		check_found(r, CHECK_WARN, "/dev/loop-control cannot be used: %s", strerrordesc_np(errno));
	} else {
		check_found(r, CHECK_OK, "available");
	}
}

/* --- space --- */

static void check_space(const char *what, uint64_t need_mib, uint64_t want_mib, struct check_result *r)
{
	autofree char *dir = existing_parent(what);
	struct statvfs fs;

	if (!dir || statvfs(dir, &fs) < 0) {
		check_found(r, CHECK_WARN, "free space of '%s' is unknown: %s", what, strerrordesc_np(errno));
		return;
	}
	uint64_t mib = (uint64_t)fs.f_bavail * fs.f_frsize / MIB;
	enum check_level level = mib < need_mib ? CHECK_FAIL : mib < want_mib ? CHECK_WARN : CHECK_OK;

	check_found(r, level, "'%s' has %llu.%llu GB free", what, (unsigned long long)(mib / 1024),
	    (unsigned long long)(mib % 1024 * 10 / 1024));
	if (level != CHECK_OK)
		check_remedy(r, "free some space or choose another directory: %llu GB are recommended",
		    (unsigned long long)(want_mib / 1024));
}

void check_state_space(const struct check_host *h, struct check_result *r)
{
	check_space(h->state, 1024, 8 * 1024, r);
}

/* Computes the maximum size of the storage from its settings and the disk it is on. */
static int storage_most_mib(const struct check_host *h, uint64_t *ret)
{
	autofree char *dir = existing_parent(h->state), *image = str_fmt("%s/pool.img", h->state);
	uint64_t size = conffile_number(h->config, "pool_size_mb", 0),
		 most = conffile_number(h->config, "pool_max_mb", 0);
	struct stat st = { 0 };
	struct statvfs fs;

	if (!dir || !image || statvfs(dir, &fs) < 0)
		return -errno;
	uint64_t free_mib = (uint64_t)fs.f_bavail * fs.f_frsize / MIB;
	uint64_t now = stat(image, &st) == 0 ? (uint64_t)st.st_size / MIB : 0;

	default_pool_sizes(free_mib, &size, &most);
	if (most > now + free_mib)
		most = now + free_mib;
	*ret = most > now ? most : now;
	return 0;
}

/* The sum of the disk limits may exceed the space available, because most sandboxes use little of theirs. Reports by
 * how much. */
void check_promises(const struct check_host *h, struct check_result *r)
{
	uint64_t each = conffile_number(h->config, "default_disk_mb", DEFAULT_DISK_MB), storage;
	uint64_t n = conffile_number(h->config, "max_sandboxes", DEFAULT_MAX_SANDBOXES);
	autofree char *none = h->config ? conffile_get(h->config, "no_pool") : NULL;
	int rc = storage_most_mib(h, &storage);

	if (none && strcmp(none, "true") == 0) {
		check_found(r, CHECK_WARN, "no storage pool (no_pool): disk writes of sandboxes are not limited");
		check_remedy(r, "set no_pool = false");
	} else if (rc < 0) {
		check_found(r, CHECK_WARN, "the maximum size of the storage pool is unknown: %s", strerrordesc_np(-rc));
	} else {
		uint64_t full = storage / (each ? each : 1);
		double gib = 1024;

		check_found(r, n <= full ? CHECK_OK : CHECK_WARN,
		    "the storage pool may use %.1f GB; %llu sandboxes (max_sandboxes) of %.1f GB (default_disk_mb) are "
		    "promised %.1f GB%s",
		    (double)storage / gib, (unsigned long long)n, (double)each / gib, (double)(n * each) / gib,
		    n <= full ? "" : ": the disk is overcommitted");
		if (n > full)
			check_remedy(r,
			    "to guarantee every disk, set max_sandboxes = %llu, a smaller default_disk_mb, or a larger "
			    "pool_max_mb on a larger disk. Volumes and snapshots need additional space",
			    (unsigned long long)(full ? full : 1));
	}
}

void check_cache_space(const struct check_host *h, struct check_result *r)
{
	autopaths struct paths p = { 0 };
	char key[TEMPLATE_KEY_LEN + 1];
	struct err e = ERR_INIT;
	bool built = paths_find(&p, &e) == 0 && template_key(p.build_script, "base", key, &e) == 0 &&
	    template_cached(h->cache, key);

	if (built)
		check_space(h->cache, 0, 1024, r);
	else
		check_space(h->cache, 1536, 3 * 1024, r);
}
