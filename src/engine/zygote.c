/* SPDX-License-Identifier: Apache-2.0 */
/* zygote: makes and finds the warm interpreter of a template.
 *
 *	builder ──fork, fork──▶ maker: holds the lock KEY.lock until the zygote serves or has failed
 *	                          └──▶ M1: in Z; makes the root
 *	                                └──▶ zygote: child of the holder when M1 has ended; confined, then the template's Python
 */
#include "engine/zygote.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "engine/caps.h"
#include "engine/cgroup.h"
#include "engine/dev.h"
#include "engine/holder.h"
#include "engine/limits.h"
#include "engine/mounts.h"
#include "engine/proc.h"
#include "engine/seccomp.h"
#include "engine/slot.h"
#include "engine/userns.h"

#define PROGRAM "/usr/bin/python3"
#define SCRIPT "/opt/atoll/runtimes/python/zygote.py"
#define JOIN_PATH "/tmp/join.so"
#define WARM_MS 120000			/* a zygote that does not serve by then is given up */
#define FORK_MS 2000
#define RETRY_S 60			/* after a failure */
#define BACKLOG 1024
#define LISTEN_FD 3			/* the two that the zygote finds open besides 0, 1 and 2 */
#define REPORT_FD 4
#define REPORT_SIZE 512
#define MEM_BYTES (2ull << 30)
#define PIDS 256			/* copies count here until they are in their sandbox's cgroup */
#define NAME_SIZE 64

/* Joining, for the builder. */

static void name_of(const char *key, const char *suffix, char ret[NAME_SIZE])
{
	(void)snprintf(ret, NAME_SIZE, "%s%s", key, suffix);
}

/* By way of the directory's fd: its own path may be longer than such an address. */
static socklen_t address(int dir_fd, const char *name, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un) { .sun_family = AF_UNIX };
	(void)snprintf(ret->sun_path, sizeof ret->sun_path, "/proc/self/fd/%d/%s", dir_fd, name);
	return sizeof *ret;
}

static int try_connect(const struct zygote_config *cfg, const char *key, int *ret_fd)
{
	struct sockaddr_un to;
	socklen_t n = address(cfg->dir_fd, key, &to);
	autoclose int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &(int) { 1 }, sizeof(int)) < 0 || connect(fd, (struct sockaddr *)&to, n) < 0)
		return -errno;
	*ret_fd = take_fd(&fd);
	return 0;
}

int zygote_ask(int conn, pid_t pid, int pidfd, int seed_fd)
{
	char path[48];

	(void)snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
	autoclose int userns = open(path, O_RDONLY | O_CLOEXEC);

	(void)snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)pid);
	autoclose int pidns = open(path, O_RDONLY | O_CLOEXEC);

	if (userns < 0 || pidns < 0)
		return -errno;
	ssize_t n = fd_send(conn, "j", 1, (int[]) { userns, pidns, pidfd, seed_fd }, 4);

	return n < 0 ? (int)n : 0;
}

/* The kernel says who it is, in terms of our own pid namespace. */
static pid_t sender_of(const struct msghdr *m)
{
	const struct cmsghdr *c = CMSG_FIRSTHDR(m);
	struct ucred cred;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS || c->cmsg_len != CMSG_LEN(sizeof cred))
		return -1;
	memcpy(&cred, CMSG_DATA(c), sizeof cred);
	return cred.pid;
}

int zygote_await(int conn, pid_t *ret_pid, struct err *e)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred))];
	char c;
	struct iovec v = { &c, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control };
	struct pollfd p = { .fd = conn, .events = POLLIN };

	if (poll(&p, 1, FORK_MS) <= 0 || recvmsg(conn, &m, MSG_CMSG_CLOEXEC) != 1 || sender_of(&m) <= 1)
		return err_set(e, EPIPE, "the zygote made no copy");
	*ret_pid = sender_of(&m);
	return 0;
}

void zygote_go(int conn)
{
	(void)fd_send(conn, "g", 1, NULL, 0);	/* it has died: init sees that too */
}

/* In the zygote-to-be. */

static int write_join(struct err *e)
{
	autoclose int fd = open(JOIN_PATH, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0555);
	int r = fd < 0 ? -errno : fd_write_all(fd, join_image, (size_t)(join_image_end - join_image));

	return r < 0 ? err_set(e, -r, "write '%s': %s", JOIN_PATH, strerror(-r)) : 0;
}

static int put_at(int mount_fd, int root, const char *path, struct err *e)
{
	autoclose int at = -1;

	if (mount_target(root, path, &at, e) < 0)
		return -e->no;
	return mount_put(mount_fd, at, "", e) < 0 ? err_wrap(e, "%s", path) : 0;
}

static int put_new(const char *type, const struct mount_opt *opts, size_t n, unsigned attr, int root, struct err *e)
{
	autoclose int m = -1;

	if (mount_new(type, opts, n, attr, &m, e) < 0)
		return -e->no;
	return put_at(m, root, strcmp(type, "proc") == 0 ? "proc" : "tmp", e);
}

/* The template, read-only; a /dev like a sandbox's; of /proc only what is its own. */
static int make_root(int template_fd, int dev_fd, struct err *e)
{
	static const struct mount_opt proc[] = { { "source", "proc" }, { "hidepid", "invisible" }, { "subset", "pid" } };
	static const struct mount_opt tmp[] = { { "source", "tmp" }, { "mode", "1777" }, { "size", "64m" }, { "nr_inodes", "4096" } };
	unsigned quiet = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

	if (unshare(CLONE_NEWNS) < 0)
		return err_sys(e, "make a mount namespace");
	if (mount_make_private(e) < 0 || mount_put(template_fd, AT_FDCWD, "/r", e) < 0 || put_at(dev_fd, template_fd, "dev", e) < 0)
		return -e->no;
	if (put_new("proc", proc, ARRAY_LEN(proc), quiet | MOUNT_ATTR_NOEXEC, template_fd, e) < 0 ||
	    put_new("tmpfs", tmp, ARRAY_LEN(tmp), quiet, template_fd, e) < 0)
		return -e->no;
	if (mount_pivot(template_fd, e) < 0)
		return -e->no;
	return write_join(e);
}

static int sort_fds(int listener, int report, struct err *e)
{
	int l = fcntl(listener, F_DUPFD, 16), r = fcntl(report, F_DUPFD, 16), null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (l < 0 || r < 0 || null < 0 || dup2(l, LISTEN_FD) < 0 || dup2(r, REPORT_FD) < 0)
		return err_sys(e, "sort fds");
	for (int i = 0; i < 3; i++) {
		if (dup2(null, i) < 0)
			return err_sys(e, "sort fds");
	}
	return syscall(SYS_close_range, REPORT_FD + 1, ~0u, 0) < 0 ? err_sys(e, "close fds") : 0;
}

static int zygote_run(const struct seccomp_filter *filter, int listener, int report, struct err *e)
{
	char *argv[] = { PROGRAM, SCRIPT, JOIN_PATH, NULL };
	char *envp[] = {
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8", NULL,
	};

	(void)setsid();
	(void)umask(022);
	if (sort_fds(listener, report, e) < 0 || limits_user(e) < 0 || limits_process(e) < 0 || limits_ordinary(e) < 0 ||
	    seccomp_filter_install(filter, e) < 0 || caps_confine_zygote(e) < 0)
		return -e->no;
	(void)execve(argv[0], argv, envp);
	return err_sys(e, "run '%s'", argv[0]);
}

/* The maker. */

struct making {
	const struct zygote_config *cfg;
	const char *key;
	struct seccomp_filter filter;
	struct cgroup_seat seat;
	int holder, template_fd, dev_fd, listener, report[2];
};

static int m1_run(struct making *mk, struct err *e)
{
	if (cgroup_sit(&mk->seat, 0, e) < 0)
		return -e->no;
	if (setns(mk->holder, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP) < 0)
		return err_sys(e, "join the template's namespaces");
	if (caps_become(0, 0, e) < 0 || make_root(mk->template_fd, mk->dev_fd, e) < 0)
		return -e->no;
	pid_t pid = fork();

	if (pid < 0)
		return err_sys(e, "fork");
	return pid == 0 ? zygote_run(&mk->filter, mk->listener, mk->report[1], e) : 0;
}

static int open_template(struct making *mk, struct err *e)
{
	char path[NAME_SIZE];
	struct slot s;
	pid_t pid;

	slot_fill(mk->cfg->instance, 0, &s);
	name_of(mk->key, "/rootfs", path);
	autoclose int fd = openat(mk->cfg->templates_fd, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return err_sys(e, "open the template");
	if (mount_clone(fd, "", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, &mk->template_fd, e) < 0 ||
	    dev_make(s.z_base, &mk->dev_fd, e) < 0 || holder_get(mk->cfg->holder, mk->key, &mk->holder, e) < 0)
		return -e->no;
	if (proc_pid_of(mk->holder, &pid) < 0)
		return err_set(e, ESRCH, "the holder has ended");
	(void)snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
	autoclose int userns = open(path, O_RDONLY | O_CLOEXEC);

	return userns < 0 ? err_sys(e, "open the holder's user namespace") : mount_idmap(mk->template_fd, userns, e);
}

static int open_listener(struct making *mk, struct err *e)
{
	char name[NAME_SIZE];
	struct sockaddr_un at;

	name_of(mk->key, ".new", name);
	(void)unlinkat(mk->cfg->dir_fd, name, 0);
	socklen_t n = address(mk->cfg->dir_fd, name, &at);

	mk->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (mk->listener < 0 || bind(mk->listener, (struct sockaddr *)&at, n) < 0 || listen(mk->listener, BACKLOG) < 0)
		return err_sys(e, "listen for the zygote");
	return 0;
}

static int make_seat(struct making *mk, struct err *e)
{
	struct cgroup_limits lim = { .mem_bytes = MEM_BYTES, .pids = PIDS };
	char id[NAME_SIZE];

	(void)snprintf(id, sizeof id, "_zygote-%.16s", mk->key);
	if (cgroup_make(mk->cfg->cgroups, id, &lim, e) < 0)
		return -e->no;
	return cgroup_seat_open(mk->cfg->cgroups, id, &mk->seat, e);
}

/* "ready", or why not. */
static int await_report(struct making *mk, struct err *e)
{
	struct pollfd p = { .fd = mk->report[0], .events = POLLIN };
	char text[REPORT_SIZE];

	if (poll(&p, 1, WARM_MS) <= 0)
		return err_set(e, ETIMEDOUT, "it is not warm after %d s", WARM_MS / 1000);
	ssize_t n = recv(mk->report[0], text, sizeof text - 1, 0);

	if (n <= 0)
		return err_set(e, EPIPE, "it ended before it was warm");
	text[n] = '\0';
	return strcmp(text, "ready") == 0 ? 0 : err_set(e, EIO, "%.180s", text);
}

static int make(struct making *mk, struct err *e)
{
	char name[NAME_SIZE];
	autoclose int m1_fd = -1;
	int status;

	if (open_template(mk, e) < 0 || open_listener(mk, e) < 0 || make_seat(mk, e) < 0 ||
	    seccomp_filter_build(&mk->filter, true, e) < 0)
		return -e->no;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, mk->report) < 0)
		return err_sys(e, "make a socket pair");
	if (setns(mk->holder, CLONE_NEWPID) < 0)	/* of our children */
		return err_sys(e, "join the template's pid namespace");
	pid_t m1 = userns_fork(0, mk->seat.into_fd, &m1_fd);

	if (m1 < 0)
		return err_set(e, -m1, "fork: %s", strerror(-m1));
	if (m1 == 0) {
		if (m1_run(mk, e) < 0)
			(void)fd_send(mk->report[1], e->text, strlen(e->text), NULL, 0);
		_exit(0);
	}
	fd_close(take_fd(&mk->report[1]));
	fd_close(take_fd(&mk->listener));
	(void)waitpid(m1, &status, 0);
	if (await_report(mk, e) < 0)
		return -e->no;
	name_of(mk->key, ".new", name);
	if (renameat(mk->cfg->dir_fd, name, mk->cfg->dir_fd, mk->key) < 0)
		return err_sys(e, "put its socket in place");
	return 0;
}

static bool failed_lately(const struct zygote_config *cfg, const char *name)
{
	struct stat st;

	return fstatat(cfg->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && time(NULL) - st.st_mtime < RETRY_S;
}

static void maker_main(const struct zygote_config *cfg, const char *key)
{
	struct making mk = { .cfg = cfg, .key = key, .seat = CGROUP_SEAT_NONE, .holder = -1, .template_fd = -1, .dev_fd = -1,
		.listener = -1, .report = { -1, -1 } };
	char failed[NAME_SIZE];
	struct err e = ERR_INIT;
	uint64_t began = clock_mono_ms();

	if (make(&mk, &e) == 0) {
		log_info("zygote serves", "template=%.8s ms=%" PRIu64, key, clock_mono_ms() - began);
		return;
	}
	log_warn("no zygote, sandboxes start their interpreters themselves", "template=%.8s err=%s", key, e.text);
	name_of(key, ".failed", failed);
	fd_close(openat(cfg->dir_fd, failed, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
}

/* Nobody waits for it, so it is nobody's child. */
static void make_aside(const struct zygote_config *cfg, const char *key)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (fork() == 0) {
			(void)setsid();
			maker_main(cfg, key);
		}
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
}

/* Held by whoever makes one, and by its maker for as long as that takes. */
static int lock_making(const struct zygote_config *cfg, const char *key)
{
	char name[NAME_SIZE];

	name_of(key, ".lock", name);
	autoclose int fd = openat(cfg->dir_fd, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 ? -EBUSY : take_fd(&fd);
}

int zygote_connect(const struct zygote_config *cfg, const char *key, int *ret_fd)
{
	char path[2 * NAME_SIZE], failed[NAME_SIZE];
	int r = try_connect(cfg, key, ret_fd);

	if (r == 0)
		return 0;
	(void)snprintf(path, sizeof path, "%s/rootfs" SCRIPT, key);
	name_of(key, ".failed", failed);
	if (r == -EAGAIN || faccessat(cfg->templates_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0 || failed_lately(cfg, failed))
		return -ENOENT;
	autoclose int lock = lock_making(cfg, key);

	if (lock < 0)
		return -ENOENT;
	if (try_connect(cfg, key, ret_fd) == 0)		/* another was faster */
		return 0;
	make_aside(cfg, key);
	return -ENOENT;
}

void zygote_forget_all(const struct zygote_config *cfg)
{
	int fd = openat(cfg->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	for (struct dirent *de; d && (de = readdir(d));) {
		if (de->d_name[0] != '.')
			(void)unlinkat(cfg->dir_fd, de->d_name, 0);
	}
	if (d)
		(void)closedir(d);
}
