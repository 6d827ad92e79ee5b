/* SPDX-License-Identifier: Apache-2.0 */
/* zygote_make: makes the zygote of a template.
 *
 *	maker: a child of the warden; waits until the zygote is ready or has failed
 *	  └──▶ M1: in Z; makes the root
 *	        └──▶ zygote: orphaned when M1 exits; confines itself, then runs the template's Python */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "engine/caps.h"
#include "engine/cgroup/cgroup.h"
#include "engine/dev.h"
#include "engine/holder.h"
#include "engine/limits.h"
#include "engine/mounts.h"
#include "engine/proc.h"
#include "engine/seccomp/seccomp.h"
#include "engine/slot.h"
#include "engine/userns.h"
#include "engine/zygote/base.h"
#include "engine/zygote/impl.h"
#include "engine/zygote/join_lib.h"
#include "engine/zygote/zygote.h"

#define PROGRAM "/usr/bin/python3"
#define JOIN_PATH "/tmp/join.so"
#define WARM_MS 120000 /* a zygote that does not serve by then is abandoned */
#define BACKLOG 1024
#define LISTEN_FD 3 /* the fds that the zygote inherits besides 0, 1 and 2 */
#define REPORT_FD 4
#define REPORT_SIZE 512
#define MEM_BYTES (2ull << 30)
#define COPY_BYTES (2ull << 20) /* page tables of a copy, which the kernel charges to who forks it */
#define FILE_BYTES (1ull << 30) /* of the file with its memory, which no other quota covers */
#define CPU_WEIGHT 1000         /* its work saves sandboxes a hundred times as much */
/* A copy gets its sandbox's limit when it joins, which cannot exceed the zygote's own. */
#define OPEN_FILES UINT32_MAX
#define PIDS 256 /* copies count here until they are in their sandbox's cgroup */

struct making {
	const struct zygote_config *cfg;
	const char *key;
	char cgroup[ZYGOTE_NAME_SIZE];
	struct seccomp_filter filter;
	struct cgroup_seat seat;
	struct holder holder;
	int template_fd, dev_fd, proc_fd, listener, base, report[2];
	char base_name[ZYGOTE_NAME_SIZE];
};

/* --- in the future zygote ------------------------------------------------------------------------------------- */

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

/* The template, read-only; a /dev like a sandbox's; a /proc that shows only the zygote itself. */
static int make_root(const struct making *mk, struct err *e)
{
	static const struct mount_opt tmp[] = { { "source", "tmp" }, { "mode", "1777" }, { "size", "64m" },
		{ "nr_inodes", "4096" } };
	autoclose int tmp_fd = -1;
	int root = mk->template_fd;

	if (unshare(CLONE_NEWNS) < 0)
		return err_sys(e, "make a mount namespace");
	if (mount_make_private(e) < 0 || mount_put(root, AT_FDCWD, "/r", e) < 0 ||
	    put_at(mk->dev_fd, root, "dev", e) < 0 || put_at(mk->proc_fd, root, "proc", e) < 0)
		return -e->no;
	if (mount_new("tmpfs", tmp, ARRAY_LEN(tmp), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, &tmp_fd, e) < 0 ||
	    put_at(tmp_fd, root, "tmp", e) < 0)
		return -e->no;
	if (mount_pivot(root, e) < 0)
		return -e->no;
	return write_join(e);
}

static int sort_fds(int listener, int report, int base, struct err *e)
{
	int l = fcntl(listener, F_DUPFD, 16), r = fcntl(report, F_DUPFD, 16),
	    b = base < 0 ? -1 : fcntl(base, F_DUPFD, 16);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (l < 0 || r < 0 || null < 0 || dup2(l, LISTEN_FD) < 0 || dup2(r, REPORT_FD) < 0)
		return err_sys(e, "sort fds");
	for (int i = 0; i < 3; i++) {
		if (dup2(null, i) < 0)
			return err_sys(e, "sort fds");
	}
	if (b >= 0 && dup2(b, JOIN_BASE_FD) < 0)
		return err_sys(e, "sort fds");
	return syscall(SYS_close_range, b < 0 ? REPORT_FD + 1 : JOIN_BASE_FD + 1, ~0u, 0) < 0 ? err_sys(e, "close fds")
											      : 0;
}

/* In force only until its memory is written, see join_lib.c: copies would inherit it. */
static int limit_files(struct err *e)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_FSIZE, &l) < 0)
		return err_sys(e, "read limits");
	l.rlim_cur = l.rlim_max < FILE_BYTES ? l.rlim_max : FILE_BYTES;
	return setrlimit(RLIMIT_FSIZE, &l) < 0 ? err_sys(e, "limit the size of its files") : 0;
}

static int zygote_run(const struct making *mk, struct err *e)
{
	/* 0: it does not exit when idle */
	char *argv[] = { PROGRAM, ZYGOTE_SCRIPT, JOIN_PATH, "0", NULL };
	char *envp[] = {
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/root",
		"LANG=C.UTF-8",
		NULL,
	};

	(void)setsid();
	(void)umask(022);
	if (sort_fds(mk->listener, mk->report[1], mk->base, e) < 0 || limits_user(e) < 0 ||
	    limits_process(OPEN_FILES, e) < 0 || limits_ordinary(e) < 0 || limit_files(e) < 0 ||
	    seccomp_filter_install(&mk->filter, e) < 0 || caps_confine_zygote(e) < 0)
		return -e->no;
	(void)execve(argv[0], argv, envp);
	return err_sys(e, "run '%s'", argv[0]);
}

static int m1_run(struct making *mk, struct err *e)
{
	if (cgroup_sit(&mk->seat, 0, e) < 0)
		return -e->no;
	if (setns(mk->holder.pidfd,
		CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP) < 0)
		return err_sys(e, "join the template's namespaces");
	if (caps_become(0, 0, e) < 0 || make_root(mk, e) < 0)
		return -e->no;
	pid_t pid = fork();

	if (pid < 0)
		return err_sys(e, "fork");
	return pid == 0 ? zygote_run(mk, e) : 0;
}

/* --- in the maker --------------------------------------------------------------------------------------------- */

static int open_template(struct making *mk, struct err *e)
{
	static const struct mount_opt proc[] = { { "source", "proc" }, { "hidepid", "invisible" },
		{ "subset", "pid" } };
	unsigned quiet = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
	char path[ZYGOTE_NAME_SIZE];
	struct slot s;

	slot_fill(mk->cfg->instance, 0, &s);
	(void)snprintf(path, sizeof path, "%s/rootfs", mk->key);
	autoclose int fd = openat(mk->cfg->templates_fd, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return err_sys(e, "open the template");
	if (mount_clone(fd, "", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, &mk->template_fd, e) < 0 ||
	    dev_make(s.z_base, &mk->dev_fd, e) < 0 ||
	    mount_new("proc", proc, ARRAY_LEN(proc), quiet, &mk->proc_fd, e) < 0 ||
	    holder_get(mk->cfg->holder, mk->key, &mk->holder, e) < 0)
		return -e->no;
	return mount_idmap(mk->template_fd, mk->holder.user, e);
}

static int open_listener(struct making *mk, struct err *e)
{
	char name[ZYGOTE_NAME_SIZE];
	struct sockaddr_un at;

	zygote_name(mk->cfg, mk->key, ".new", name);
	(void)unlinkat(mk->cfg->dir_fd, name, 0);
	socklen_t n = zygote_address(mk->cfg->dir_fd, name, &at);

	mk->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (mk->listener < 0 || bind(mk->listener, (struct sockaddr *)&at, n) < 0 || listen(mk->listener, BACKLOG) < 0)
		return err_sys(e, "listen for the zygote");
	return 0;
}

static int make_seat(struct making *mk, struct err *e)
{
	struct cgroup_limits lim = { .mem_bytes = MEM_BYTES + mk->cfg->sandboxes * COPY_BYTES,
		.cpu_weight = CPU_WEIGHT,
		.pids = PIDS };

	zygote_cgroup(mk->key, mk->cgroup);
	if (cgroup_make(mk->cfg->cgroups, mk->cgroup, &lim, e) < 0)
		return -e->no;
	return cgroup_seat_open(mk->cfg->cgroups, mk->cgroup, &mk->seat, e);
}

/* Waits for "ready", or the reason of a failure. */
static int await_report(struct making *mk, int *ret_pidfd, struct err *e)
{
	struct pollfd p = { .fd = mk->report[0], .events = POLLIN };
	char text[REPORT_SIZE];
	ssize_t n;

	if (poll(&p, 1, WARM_MS) <= 0)
		return err_set(e, ETIMEDOUT, "it is not warm after %d s", WARM_MS / 1000);
	pid_t pid = zygote_sender(mk->report[0], text, sizeof text - 1, &n);

	if (n <= 0)
		return err_set(e, EPIPE, "it ended before it was warm");
	text[n] = '\0';
	if (strcmp(text, "ready") != 0)
		return err_set(e, EIO, "%.180s", text);
	*ret_pidfd = pid > 1 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	return *ret_pidfd < 0 ? err_set(e, ESRCH, "it ended as soon as it was warm") : 0;
}

static int make(struct making *mk, struct err *e)
{
	autoclose int m1_fd = -1, pidfd = -1;
	char name[ZYGOTE_NAME_SIZE], at[ZYGOTE_NAME_SIZE];
	int status;

	if (open_template(mk, e) < 0 || open_listener(mk, e) < 0 || make_seat(mk, e) < 0 ||
	    seccomp_filter_build(&mk->filter, SECCOMP_ZYGOTE | (mk->cfg->tell_refusals ? SECCOMP_TOLD : 0), e) < 0)
		return -e->no;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, mk->report) < 0 ||
	    setsockopt(mk->report[0], SOL_SOCKET, SO_PASSCRED, &(int) { 1 }, sizeof(int)) < 0)
		return err_sys(e, "make a socket pair");
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
	if (await_report(mk, &pidfd, e) < 0 ||
	    proc_record_write(mk->cfg->dir_fd, mk->key, mk->cfg->boot_id, pidfd, e) < 0)
		return -e->no;
	zygote_name(mk->cfg, mk->key, ".new", name);
	zygote_name(mk->cfg, mk->key, "", at);
	return renameat(mk->cfg->dir_fd, name, mk->cfg->dir_fd, at) < 0 ? err_sys(e, "put its socket in place") : 0;
}

static int make_base(struct making *mk, struct err *e)
{
	return mk->cfg->bases_fd < 0 ? 0 : base_create(mk->cfg->bases_fd, mk->key, mk->base_name, &mk->base, e);
}

/* Writes the file to disk now, so that no checkpoint has to wait for that later. */
static void base_settle(const struct making *mk, bool good)
{
	if (mk->base < 0)
		return;
	if (good && fsync(mk->base) == 0)
		base_keep(mk->cfg->bases_fd, mk->key, mk->base_name);
	else if (!good)
		base_remove(mk->cfg->bases_fd, mk->base_name);
}

int zygote_make(const struct zygote_config *cfg, const char *key, struct err *e)
{
	struct making mk = { .cfg = cfg,
		.key = key,
		.seat = CGROUP_SEAT_NONE,
		.holder = HOLDER_NONE,
		.template_fd = -1,
		.dev_fd = -1,
		.proc_fd = -1,
		.listener = -1,
		.base = -1,
		.report = { -1, -1 } };
	uint64_t began = clock_mono_ms();
	int r = make_base(&mk, e) < 0 ? -e->no : make(&mk, e);

	base_settle(&mk, r == 0);
	if (r < 0 && mk.cgroup[0])
		cgroup_end(cfg->cgroups, mk.cgroup); /* it may hang, or still be running */
	if (r == 0)
		log_info("zygote ready", "template=%.8s ms=%" PRIu64, key, clock_mono_ms() - began);
	seccomp_filter_done(&mk.filter);
	cgroup_seat_close(&mk.seat);
	holder_close(&mk.holder);
	int fds[] = { mk.template_fd, mk.dev_fd, mk.proc_fd, mk.listener, mk.base, mk.report[0], mk.report[1] };

	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		fd_close(fds[i]);
	return r;
}
