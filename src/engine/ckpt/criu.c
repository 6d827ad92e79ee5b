/* SPDX-License-Identifier: Apache-2.0 */
/* criu: runs CRIU, in a root directory of its own. */
#include "engine/ckpt/criu.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "engine/caps.h"
#include "engine/cgroup/cgroup.h"
#include "engine/core.h"
#include "engine/dev.h"
#include "engine/mounts.h"
#include "engine/proc.h"
#include "engine/userns.h"

#define PROGRAM "/usr/sbin/criu"
#define PRELOAD "preload.so"
#define UNUSED "unused.so"
#define TRIAL "trial" /* a directory with links to that file; renamed if CRIU starts with them */
#define LOG_MAX 65536
#define LEARN_LOG "learn.log"
#define LEARN_MS 30000
#define FULL_BYTES (16ull << 20)

_Static_assert(ENGINE_VOLUMES_MAX == 8, "each volume has a place");

static const struct {
	const char *name;
	bool is_file;
} places[CRIU_MOUNTS] = {
	[MOUNT_IMAGE] = { "image" },
	[MOUNT_FREEZER] = { "freezer" },
	[MOUNT_ROOT] = { "root" },
	[MOUNT_DEV] = { "dev" },
	[MOUNT_INIT] = { "init", .is_file = true },
	[MOUNT_VIEW] = { "view" },
	[MOUNT_SHM] = { "shm" },
	[MOUNT_VOLUME] = { "vol0" },
	{ "vol1" },
	{ "vol2" },
	{ "vol3" },
	{ "vol4" },
	{ "vol5" },
	{ "vol6" },
	{ "vol7" },
};

static int put_library(int run_dir, const char *name, const char *bytes, const char *end, struct err *e)
{
	autoclose int fd = openat(run_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);

	if (fd < 0)
		return err_sys(e, "make '%s'", name);
	int r = fd_write_all(fd, bytes, (size_t)(end - bytes));

	return r < 0 ? err_set(e, -r, "write '%s': %s", name, strerror(-r)) : 0;
}

int criu_prepare(int run_dir, struct err *e)
{
	static const char *const names[] = { "libgnutls.so.30", "libnftables.so.1" };
	char path[64];

	if (put_library(run_dir, PRELOAD, criu_preload, criu_preload_end, e) < 0 ||
	    put_library(run_dir, UNUSED, criu_unused, criu_unused_end, e) < 0)
		return -e->no;
	if (mkdirat(run_dir, TRIAL, 0755) < 0)
		return err_sys(e, "make '" TRIAL "'");
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		(void)snprintf(path, sizeof path, TRIAL "/%s", names[i]);
		if (linkat(run_dir, UNUSED, run_dir, path, 0) < 0)
			return err_sys(e, "make '%s'", path);
	}
	return 0;
}

/* Makes its /tmp, with a mount point for each mount. */
static int make_tmp(struct criu *c, struct err *e)
{
	static const struct mount_opt opts[] = { { "source", "tmp" }, { "mode", "755" }, { "size", "16m" } };

	if (mount_new("tmpfs", opts, ARRAY_LEN(opts), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, &c->tmp, e) < 0)
		return -e->no;
	for (size_t i = 0; i < CRIU_MOUNTS; i++) {
		autoclose int file = -1;

		if (places[i].is_file)
			file = openat(c->tmp, places[i].name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
		if (places[i].is_file ? file < 0 : mkdirat(c->tmp, places[i].name, 0755) < 0)
			return err_sys(e, "make '%s'", places[i].name);
	}
	return 0;
}

int criu_open(struct criu *c, int tools_dir, int run_dir, int image_dir, bool read_only, struct err *e)
{
	c->image = image_dir;
	if (mount_clone(tools_dir, "", MOUNT_ATTR_RDONLY, &c->tools, e) < 0 ||
	    mount_clone(run_dir, "", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, &c->run, e) < 0 ||
	    dev_make(0, &c->dev, e) < 0)
		return -e->no;
	if (image_dir >= 0 &&
	    mount_clone(image_dir, "", read_only ? MOUNT_ATTR_RDONLY : 0, &c->mounts[MOUNT_IMAGE], e) < 0)
		return -e->no;
	c->argv[c->n_args++] = PROGRAM;
	return make_tmp(c, e);
}

void criu_arg(struct criu *c, const char *arg)
{
	if (c->n_args < CRIU_ARGS_MAX - 1)
		c->argv[c->n_args++] = arg;
}

void criu_close(struct criu *c)
{
	for (size_t i = 0; i < CRIU_MOUNTS; i++)
		fd_close(c->mounts[i]);
	fd_close(c->image);
	fd_close(c->inherit);
	fd_close(c->tools);
	fd_close(c->dev);
	fd_close(c->tmp);
	fd_close(c->run);
	fd_close(c->sock);
	fd_close(c->pidfd);
	*c = CRIU_NONE;
}

/* --- in the child ------------------------------------------------------------------------------------------- */

static int put(int root, const char *path, int mount_fd, struct err *e)
{
	autoclose int at = -1;

	return mount_target(root, path, &at, e) < 0 ? -e->no : mount_put(mount_fd, at, "", e);
}

static int put_new(int root, const char *path, const char *type, const struct mount_opt *opt, struct err *e)
{
	autoclose int fd = -1;

	return mount_new(type, opt, opt ? 1 : 0, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, &fd, e) < 0
	    ? -e->no
	    : put(root, path, fd, e);
}

static int cover_ids(const struct criu *c, struct err *e)
{
	autoclose int file = -1;

	return mount_clone(c->tmp, CRIU_IDS, MOUNT_ATTR_RDONLY, &file, e) < 0
	    ? -e->no
	    : put(c->mounts[MOUNT_IMAGE], c->ids, file, e);
}

/* proc and sysfs must be complete: a restored sandbox mounts its own, and the kernel allows that only to a process
 * that already sees a complete one. With hidepid=ptraceable, a process being restored sees only processes that it
 * may trace, so none of the host's. */
static int make_root(const struct criu *c, struct err *e)
{
	static const struct mount_opt traceable = { "hidepid", "ptraceable" };

	if (mount_put(c->tools, AT_FDCWD, c->stage, e) < 0 ||
	    put_new(c->tools, "proc", "proc", c->restores ? &traceable : NULL, e) < 0 ||
	    put_new(c->tools, "sys", "sysfs", NULL, e) < 0)
		return -e->no;
	if (put(c->tools, "dev", c->dev, e) < 0 || put_new(c->tools, "dev/pts", "devpts", NULL, e) < 0 ||
	    put(c->tools, "run", c->run, e) < 0 || put(c->tools, "tmp", c->tmp, e) < 0)
		return -e->no;
	for (size_t i = 0; i < CRIU_MOUNTS; i++) {
		if (c->mounts[i] >= 0 && put(c->tmp, places[i].name, c->mounts[i], e) < 0)
			return -e->no;
	}
	return c->ids[0] ? cover_ids(c, e) : 0;
}

/* Receives the mounts that were made since the fork. */
static int take_mounts(const struct criu *c, struct err *e)
{
	for (;;) {
		uint32_t at = 0;
		size_t n_fds = 0;
		autoclose int fd = -1;
		ssize_t n = fd_recv(c->sock, &at, sizeof at, &fd, 1, &n_fds);

		if (n == 0)
			_exit(1); /* the caller has failed, or was killed */
		if (n != (ssize_t)sizeof at)
			return err_set(e, EPIPE, "receive its mounts");
		if (at == CRIU_MOUNTS && n_fds == 0)
			return 0;
		if (at >= CRIU_MOUNTS || n_fds != 1)
			return err_set(e, EBADMSG, "no mount %u", at);
		if (put(c->tmp, places[at].name, fd, e) < 0)
			return -e->no;
	}
}

static int quiet_streams(struct err *e)
{
	autoclose int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; i < 3; i++) {
		if (null < 0 || dup2(null, i) < 0)
			return err_sys(e, "open /dev/null");
	}
	return 0;
}

/* Does everything up to the exec; returns only on failure. */
static int become(const struct criu *c, struct err *e)
{
	/* CRIU runs gzip on the contents of /dev/shm while the whole sandbox waits, so it uses the fastest level. */
	char owner[32], libraries[64];
	char *envp[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "GZIP=-1", "LD_PRELOAD=/run/" PRELOAD, libraries, owner,
		c->restores ? "ATOLL_GUARD=1" : NULL, NULL };

	if (c->seat && cgroup_sit(c->seat, 0, e) < 0)
		return -e->no;
	if (c->own_core)
		core_own();
	/* Restored processes stay in the cgroups and the cgroup namespace that CRIU is in. */
	if (unshare(CLONE_NEWNS | (c->seat ? CLONE_NEWCGROUP : 0)) < 0)
		return err_sys(e, "make namespaces");
	if (mount_make_private(e) < 0 || make_root(c, e) < 0 || take_mounts(c, e) < 0 || mount_pivot(c->tools, e) < 0 ||
	    quiet_streams(e) < 0)
		return -e->no;
	if (caps_keep_across_uids(e) < 0)
		return -e->no;
	(void)snprintf(owner, sizeof owner, "ATOLL_OWNER=%u", c->owner);
	(void)snprintf(libraries, sizeof libraries, "LD_LIBRARY_PATH=%s", c->libraries ? c->libraries : "");
	(void)setsid();
	(void)umask(022); /* restored processes read their part of the checkpoint under their own uids */
	(void)syscall(SYS_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC);
	if (c->inherit >= 0 && fcntl(c->inherit, F_SETFD, 0) < 0)
		return err_sys(e, "keep a file for criu");
	(void)execve(PROGRAM, (char *const *)c->argv, envp);
	return err_sys(e, "run criu");
}

/* --- in the caller ------------------------------------------------------------------------------------------ */

/* An error before the exec is sent over the socket, which the exec closes. */
int criu_fork(struct criu *c, struct err *e)
{
	int sock[2];
	struct err why = ERR_INIT;

	c->argv[c->n_args] = NULL;
	for (size_t i = 0; i < CRIU_MOUNTS; i++)
		c->known |= c->mounts[i] >= 0 ? 1u << i : 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0)
		return err_sys(e, "make a socket pair");
	c->pid = userns_fork(0, c->seat ? c->seat->into_fd : -1, &c->pidfd);
	if (c->pid == 0) {
		fd_close(sock[0]);
		c->sock = sock[1];
		(void)become(c, &why);
		(void)fd_send(c->sock, &why, sizeof why, NULL, 0);
		_exit(1);
	}
	fd_close(sock[1]);
	c->sock = sock[0];
	return c->pid < 0 ? err_set(e, -c->pid, "fork: %s", strerror(-c->pid)) : 0;
}

void criu_drop(struct criu *c)
{
	fd_close(take_fd(&c->sock));
	if (c->pid <= 0)
		return;
	(void)kill(c->pid, SIGKILL);
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
	c->pid = -1;
}

/* A process that has failed no longer receives; its error is in the socket. */
int criu_go(struct criu *c, struct err *e)
{
	struct err why = ERR_INIT;
	bool hears = true;

	for (uint32_t i = 0; hears && i < CRIU_MOUNTS; i++) {
		if (c->mounts[i] >= 0 && !(c->known & 1u << i))
			hears = fd_send(c->sock, &i, sizeof i, &c->mounts[i], 1) == (ssize_t)sizeof i;
	}
	if (hears)
		(void)fd_send(c->sock, &(uint32_t) { CRIU_MOUNTS }, sizeof(uint32_t), NULL, 0);
	ssize_t n = fd_recv(c->sock, &why, sizeof why, NULL, 0, &(size_t) { 0 });

	fd_close(take_fd(&c->sock));
	if (n == 0) /* it runs, or was killed: criu_wait() reports that */
		return 0;
	*e = why;
	return n == (ssize_t)sizeof why && e->no > 0 ? err_wrap(e, "start criu") : err_set(e, EPIPE, "start criu");
}

int criu_spawn(struct criu *c, struct err *e)
{
	if (criu_fork(c, e) == 0 && criu_go(c, e) == 0)
		return 0;
	criu_drop(c);
	return -e->no;
}

/* Errors known to be harmless: CRIU tries to raise its own limit and to probe tun devices and 32-bit programs, and
 * continues without them. */
static bool is_noise(struct str line)
{
	static const char *const known[] = { "RLIMIT_NOFILE for self", "Unable to create tun", "ia32 mmap() failed" };

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (memmem(line.p, line.n, known[i], strlen(known[i])))
			return true;
	}
	return false;
}

void criu_reason(const char *log, char *ret, size_t size)
{
	struct str text = str_of(log);

	while (text.p) {
		struct str line = str_cut(&text, '\n');
		const char *at = memmem(line.p, line.n, "Error (", 7);
		const char *colon = at ? memmem(at, line.n - (size_t)(at - line.p), "): ", 3) : NULL;

		if (!colon || is_noise(line))
			continue;
		struct str why = { colon + 3, line.n - (size_t)(colon + 3 - line.p) };

		if (why.n >= size)
			why.n = size - 1;
		(void)str_copy(ret, size, why);
		return;
	}
	(void)str_copy(ret, size, STR_LIT("its log says nothing"));
}

/* With a full disk there is no log either. */
static bool disk_is_full(int image)
{
	struct statvfs fs;

	return fstatvfs(image, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize < FULL_BYTES;
}

static void explain(const struct criu *c, struct err *e)
{
	autofree char *log = malloc(LOG_MAX + 1);
	autoclose int fd = openat(c->tmp, c->log, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n = log && fd >= 0 ? read(fd, log, LOG_MAX) : -1;
	char why[160];

	if (log)
		log[n > 0 ? n : 0] = '\0';
	criu_reason(log ? log : "", why, sizeof why);
	if (disk_is_full(c->image))
		(void)err_set(e, ENOSPC, "criu: the pool is full");
	else if (str_starts(str_of(why), "Can't read pages data"))
		(void)err_set(e, EIO,
		    "its memory cannot be read from disk, the pool is damaged there (see the kernel's log); 'atoll "
		    "resume --boot ID' boots it on its files");
	else if (str_starts(str_of(why), "Timeout reached")) /* vfork(): the process waits for a child that is
							      * already stopped */
		(void)err_set(e, EAGAIN, "criu: one of its processes could not be stopped; try again");
	else
		(void)err_set(e, EIO, "criu: %s", why);
}

int criu_wait(struct criu *c, int timeout_ms, struct err *e)
{
	int status = 0;

	if (proc_wait_gone(c->pidfd, timeout_ms) < 0) {
		(void)kill(c->pid, SIGKILL);
		(void)err_set(e, ETIMEDOUT, "criu takes more than %d s", timeout_ms / 1000);
	}
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	c->pid = -1;
	if (e->no == 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
		explain(c, e);
	return -e->no;
}

/* Asks for a feature that costs nothing to check. The purpose is what CRIU does before: its kernel checks, which
 * fill the cache. */
static int check(int tools_dir, int run_dir, const char *stage, const char *libraries, struct err *e)
{
	static const char *const arguments[] = { "check", "--feature", "clone3_set_tid", "--work-dir", "/tmp",
		"--log-file", LEARN_LOG, "-v1" };
	struct criu c = CRIU_NONE;
	int r = criu_open(&c, tools_dir, run_dir, -1, true, e);

	c.stage = stage;
	c.log = LEARN_LOG;
	c.libraries = libraries;
	for (size_t i = 0; i < ARRAY_LEN(arguments); i++)
		criu_arg(&c, arguments[i]);
	if (r >= 0)
		r = criu_spawn(&c, e);
	if (r >= 0)
		r = criu_wait(&c, LEARN_MS, e);
	criu_close(&c);
	return r;
}

int criu_learn(int tools_dir, int run_dir, const char *stage, struct err *e)
{
	struct err why = ERR_INIT;

	if (check(tools_dir, run_dir, stage, NULL, e) < 0)
		return -e->no;
	if (faccessat(run_dir, TRIAL, F_OK, 0) < 0) /* an earlier helper was here */
		return 0;
	if (check(tools_dir, run_dir, stage, "/run/" TRIAL, &why) < 0)
		log_info("criu needs all of its libraries, so restores take longer", "why=%s", why.text);
	else if (renameat(run_dir, TRIAL, run_dir, &CRIU_PROVEN[sizeof "/run"]) < 0)
		return err_sys(e, "rename '" TRIAL "'");
	return 0;
}
