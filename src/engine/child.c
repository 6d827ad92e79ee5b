/* SPDX-License-Identifier: Apache-2.0 */
/* child: the set-up process that becomes pid 1 of a sandbox.
 *
 * It starts in new namespaces, with the root directory of Z, unmapped ids and all capabilities over the new user
 * namespace. Each stage needs what a later one takes away, hence the order:
 *
 *	identity	closes inherited fds; becomes root of the sandbox once the id map is written
 *	network		lo and eth0, once the builder has made eth0; a prepared network has both
 *	root		the builder's mounts, then fresh proc, sys, pts, shm, mqueue; leaves the old root
 *	files		the few files that differ per sandbox; sysctls; read-only and hidden parts of /proc and /sys
 *	volumes		mounts its volumes
 *	confine		once in its cgroups: limits, seccomp filter, capabilities
 *	exec		init
 *
 * No program of the template runs at any point here, but the template's paths are not trusted: targets are opened
 * without following links. */
#include "engine/child.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/caps.h"
#include "engine/core.h"
#include "engine/dev.h"
#include "engine/disk/volume.h"
#include "engine/etc.h"
#include "engine/limits.h"
#include "engine/mounts.h"
#include "engine/net/link.h"
#include "engine/step.h"
#include "engine/view/view.h"

#define READY_FD 3 /* fds that init inherits besides 0, 1 and 2 */
#define SOCK_FD 4
#define SEED_FD 5 /* optional: socket to the seed */
#define TTY_GID "5"
#define PTYS_MAX "128" /* the host has about 3000 for all sandboxes together */

enum { FD_ROOT, FD_DEV, FD_INIT, FD_VIEW, FD_COUNT };

static int take_seed(struct err *e)
{
	int fd;

	if (step_recv(SOCK_FD, STEP_SEED, &fd, 1, -1, e) < 0)
		return -e->no;
	if (fd == SEED_FD)
		return 0;
	int r = dup3(fd, SEED_FD, O_CLOEXEC) < 0 ? err_sys(e, "sort fds") : 0;

	fd_close(fd);
	return r;
}

static int identity(struct child_spec *sp, struct err *e)
{
	/* Move both out of the way first: each may have the other's target number. */
	int ready = fcntl(sp->ready_fd, F_DUPFD, 16), sock = fcntl(sp->sock, F_DUPFD, 16);

	if (ready < 0 || sock < 0 || dup3(ready, READY_FD, O_CLOEXEC) < 0 || dup3(sock, SOCK_FD, O_CLOEXEC) < 0)
		return err_sys(e, "sort fds");
	sp->ready_fd = READY_FD;
	sp->sock = SOCK_FD;
	if (syscall(SYS_close_range, SOCK_FD + 1, ~0u, 0) < 0)
		return err_sys(e, "close fds");
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	for (int s = 1; s < NSIG; s++)
		(void)signal(s, SIG_DFL);
	(void)umask(022);
	(void)setsid();
	if (sp->has_seed && take_seed(e) < 0)
		return -e->no;
	/* This step also tells us that our id map is written. */
	if (step_recv(SOCK_FD, STEP_LINKED, NULL, 0, -1, e) < 0)
		return -e->no;
	if (caps_become(0, 0, e) < 0)
		return -e->no;
	return sethostname(ETC_HOSTNAME, strlen(ETC_HOSTNAME)) < 0 ? err_sys(e, "set the host name") : 0;
}

struct fresh {
	const char *type, *path;
	unsigned attr;
	struct mount_opt opts[5];
	size_t n_opts;
};

#define QUIET (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

static const struct fresh fresh[] = {
	{ "proc", "proc", QUIET, { { "source", "proc" } }, 1 },
	{ "sysfs", "sys", QUIET | MOUNT_ATTR_RDONLY, { { "source", "sysfs" } }, 1 },
	{ "devpts", "dev/pts", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
	    { { "source", "devpts" }, { "mode", "620" }, { "ptmxmode", "666" }, { "gid", TTY_GID },
		{ "max", PTYS_MAX } },
	    5 },
	{ "mqueue", "dev/mqueue", QUIET, { { "source", "mqueue" } }, 1 },
};

static int put_at(int mount_fd, int root, const char *path, struct err *e)
{
	autoclose int at = -1;

	if (mount_target(root, path, &at, e) < 0)
		return -e->no;
	return mount_put(mount_fd, at, "", e) < 0 ? err_wrap(e, "%s", path) : 0;
}

static int mount_shm(int root, uint64_t mem_bytes, struct err *e)
{
	autoclose int m = -1;

	return dev_make_shm(mem_bytes, 0, &m, e) < 0 ? -e->no : put_at(m, root, "dev/shm", e);
}

/* Called while the old root with a fully visible proc is still mounted: otherwise the kernel refuses a new proc. */
static int mount_fresh(int root, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(fresh); i++) {
		autoclose int m = -1;

		if (mount_new(fresh[i].type, fresh[i].opts, fresh[i].n_opts, fresh[i].attr, &m, e) < 0)
			return -e->no;
		if (put_at(m, root, fresh[i].path, e) < 0)
			return -e->no;
	}
	return 0;
}

static int root_stage(const int fds[FD_COUNT], uint64_t mem_bytes, struct err *e)
{
	if (mount_put(fds[FD_ROOT], AT_FDCWD, "/r", e) < 0)
		return -e->no;
	if (put_at(fds[FD_DEV], fds[FD_ROOT], "dev", e) < 0 ||
	    put_at(fds[FD_INIT], fds[FD_ROOT], "dev/" DEV_INIT, e) < 0)
		return -e->no;
	if (fds[FD_VIEW] >= 0 && put_at(fds[FD_VIEW], fds[FD_ROOT], "dev/" DEV_VIEW, e) < 0)
		return -e->no;
	if (mount_fresh(fds[FD_ROOT], e) < 0 || mount_shm(fds[FD_ROOT], mem_bytes, e) < 0)
		return -e->no;
	return mount_pivot(fds[FD_ROOT], e);
}

/* Clones from, read-only, and mounts it on to. A path that this kernel does not have is ignored. */
static int cover(const char *from, const char *to, unsigned attr, struct err *e)
{
	autoclose int at = -1, m = -1;

	if (mount_target(AT_FDCWD, to, &at, e) < 0) {
		bool absent = e->no == ENOENT;

		e->no = absent ? 0 : e->no;
		return absent ? 0 : -e->no;
	}
	if (mount_clone(AT_FDCWD, from, MOUNT_ATTR_RDONLY | attr, &m, e) < 0)
		return -e->no;
	return mount_put(m, at, "", e) < 0 ? err_wrap(e, "cover '%s'", to) : 0;
}

/* The sandbox's root could not touch most of these anyway, since it has no privileges on the host; but the kernel
 * has lacked a check before. */
static int cover_up(struct err *e)
{
	static const char *const read_only[] = { "/proc/sys", "/proc/bus", "/proc/irq", "/proc/sysrq-trigger" };
	static const char *const hidden_files[] = {
		"/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/latency_stats", "/proc/kallsyms",
		"/proc/key-users", "/proc/cmdline",
		"/proc/config.gz", /* like /sys/kernel/btf: what an exploit has to know about this very kernel */
		"/proc/locks",     /* locks of open files have no owner and are shown to every process */
	};
	/* The last two reveal the path of the storage, and what every other sandbox has on its disk. */
	static const char *const hidden_dirs[] = {
		"/proc/acpi",
		"/proc/scsi",
		"/proc/fs",
		"/sys/firmware",
		"/sys/devices/virtual/powercap",
		"/sys/kernel/btf",
		"/sys/devices/virtual/block",
		"/sys/fs/btrfs",
	};

	for (size_t i = 0; i < ARRAY_LEN(read_only); i++) {
		if (cover(read_only[i], read_only[i], QUIET, e) < 0)
			return -e->no;
	}
	for (size_t i = 0; i < ARRAY_LEN(hidden_files); i++) {
		if (cover("/dev/null", hidden_files[i], MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, e) < 0)
			return -e->no;
	}
	for (size_t i = 0; i < ARRAY_LEN(hidden_dirs); i++) {
		if (cover("/dev/" DEV_NOTHING, hidden_dirs[i], QUIET, e) < 0)
			return -e->no;
	}
	return cover("/dev/" DEV_BOOT_ID, "/proc/sys/kernel/random/boot_id", QUIET, e);
}

/* Mounts the sandbox's own memory and processors over the host's. */
static int cover_view(struct err *e)
{
	static const struct {
		enum view_file file;
		const char *at;
	} covers[] = {
		{ VIEW_MEMINFO, "/proc/meminfo" },
		{ VIEW_CPUINFO, "/proc/cpuinfo" },
		{ VIEW_STAT, "/proc/stat" },
		{ VIEW_UPTIME, "/proc/uptime" },
		{ VIEW_LOADAVG, "/proc/loadavg" },
		{ VIEW_SWAPS, "/proc/swaps" },
		{ VIEW_DISKSTATS, "/proc/diskstats" },
		{ VIEW_CPUS, "/sys/devices/system/cpu/online" },
		{ VIEW_CPUS, "/sys/devices/system/cpu/possible" },
		{ VIEW_CPUS, "/sys/devices/system/cpu/present" },
	};
	char from[64];

	for (size_t i = 0; i < ARRAY_LEN(covers); i++) {
		(void)snprintf(from, sizeof from, "/dev/" DEV_VIEW "/%s", view_names[covers[i].file]);
		if (cover(from, covers[i].at, QUIET, e) < 0)
			return -e->no;
	}
	return 0;
}

static int stdio(struct err *e)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return err_sys(e, "open /dev/null");
	for (int i = 0; i < 3; i++) {
		if (dup2(fd, i) < 0)
			return err_sys(e, "redirect fd %d", i);
	}
	fd_close(fd);
	return 0;
}

static int become_init(const struct child_spec *sp, struct err *e)
{
	char *argv[] = { "/dev/" DEV_INIT, NULL };
	char *envp[] = { "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "ATOLL_READY_FD=3",
		sp->has_seed ? "ATOLL_SEED_FD=5" : NULL, NULL };

	/* Not earlier, so that the namespace's root is the sandbox's own cgroup. */
	if (unshare(CLONE_NEWCGROUP) < 0)
		return err_sys(e, "make a cgroup namespace");
	if (sp->own_core)
		core_own();
	if (limits_process(sp->open_files, e) < 0 || limits_ordinary(e) < 0 || stdio(e) < 0 ||
	    seccomp_filter_install(sp->filter, e) < 0 || caps_confine(e) < 0)
		return -e->no;
	(void)fd_cloexec(READY_FD, false);
	if (sp->has_seed)
		(void)fd_cloexec(SEED_FD, false);
	(void)execve(argv[0], argv, envp);
	return err_sys(e, "run '%s'", argv[0]);
}

static int volumes(const struct child_spec *sp, struct err *e)
{
	int fds[ENGINE_VOLUMES_MAX], r = 0;

	if (sp->n_volumes == 0)
		return 0;
	if (step_recv(SOCK_FD, STEP_VOLUMES, fds, sp->n_volumes, -1, e) < 0)
		return -e->no;
	r = volume_mounts_put(sp->volumes, fds, sp->n_volumes, e);
	for (uint32_t i = 0; i < sp->n_volumes; i++)
		fd_close(fds[i]);
	return r;
}

static int run(struct child_spec *sp, struct err *e)
{
	int fds[FD_COUNT] = { -1, -1, -1, -1 };

	if (identity(sp, e) < 0)
		return err_wrap(e, "identity");
	if (!sp->has_pair && link_inside(&sp->slot, e) < 0)
		return err_wrap(e, "network");
	if (step_recv(SOCK_FD, STEP_MOUNTS, fds, sp->has_view ? FD_COUNT : FD_VIEW, -1, e) < 0)
		return -e->no;
	if (root_stage(fds, sp->mem_bytes, e) < 0)
		return err_wrap(e, "root");
	for (int i = 0; i < FD_COUNT; i++)
		fd_close(fds[i]);
	if (etc_write(AT_FDCWD, &sp->slot, sp->no_internet, e) < 0 ||
	    (!sp->has_pair && link_sysctls(0, SLOT_UIDS, e) < 0) || cover_up(e) < 0 ||
	    (sp->has_view && cover_view(e) < 0))
		return err_wrap(e, "files");
	if (volumes(sp, e) < 0)
		return err_wrap(e, "volumes");
	if (step_recv(SOCK_FD, STEP_SEATED, NULL, 0, -1, e) < 0)
		return -e->no;
	return become_init(sp, e) < 0 ? err_wrap(e, "confine") : 0;
}

_Noreturn void child_run(const struct child_spec *sp)
{
	struct child_spec own = *sp;
	struct err e = ERR_INIT;

	(void)run(&own, &e);
	step_send_error(own.sock, &e);
	_exit(1);
}
