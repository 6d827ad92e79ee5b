/* SPDX-License-Identifier: Apache-2.0 */
/* holder: makes and finds the process that keeps a template's namespaces.
 *
 *	caller ──fork──▶ maker: enters the cgroup, takes Z's own uid, clones
 *	                 └──clone3──▶ holder: pid 1 of Z; waits for its map, makes its root, limits Z, execs
 *	                 maker writes the holder's uid_map, reports to the caller and exits; the holder's
 *	                 parent is then init */
#include "engine/holder.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "engine/caps.h"
#include "engine/cgroup/cgroup.h"
#include "engine/mounts.h"
#include "engine/proc.h"
#include "engine/slot.h"
#include "engine/userns.h"

#define HOLDER_FLAGS \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)
#define END_TIMEOUT_MS 2000
/* Any directory that Z's root can reach; covered only in its own mount namespace. */
#define MOUNT_AT "/usr"

/* Per owner uid, that is per slot: its own namespaces, with a margin for those of earlier sandboxes that the
 * kernel is still removing, and its share of what the kernel counts per user. */
static const struct {
	const char *file, *value;
} z_limits[] = {
	{ "max_user_namespaces", "64" },
	{ "max_pid_namespaces", "64" },
	{ "max_net_namespaces", "64" },
	{ "max_mnt_namespaces", "64" },
	{ "max_ipc_namespaces", "64" },
	{ "max_uts_namespaces", "64" },
	{ "max_cgroup_namespaces", "64" },
	{ "max_time_namespaces", "64" },
	{ "max_inotify_instances", "256" },
	{ "max_inotify_watches", "131072" },
	{ "max_fanotify_groups", "8" },
	{ "max_fanotify_marks", "1024" },
};

/* Z's root: an empty tmpfs with proc and sysfs fully visible. The kernel lets a sandbox below mount its own proc
 * and sysfs only where it already sees a complete one. */
static int make_root(struct err *e)
{
	static const struct mount_opt small[] = { { "size", "64k" }, { "nr_inodes", "16" }, { "mode", "755" } };
	unsigned attr = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
	autoclose int root = -1, proc = -1, sys = -1;

	if (mount_make_private(e) < 0 || mount_new("tmpfs", small, ARRAY_LEN(small), attr, &root, e) < 0)
		return -e->no;
	if (mkdirat(root, "proc", 0555) < 0 || mkdirat(root, "sys", 0555) < 0 || mkdirat(root, "r", 0555) < 0)
		return err_sys(e, "fill the root");
	if (mount_put(root, AT_FDCWD, MOUNT_AT, e) < 0)
		return -e->no;
	if (mount_new("proc", NULL, 0, attr, &proc, e) < 0 || mount_put(proc, root, "proc", e) < 0)
		return -e->no;
	if (mount_new("sysfs", NULL, 0, attr, &sys, e) < 0 || mount_put(sys, root, "sys", e) < 0)
		return -e->no;
	return mount_pivot(root, e);
}

static int limit_z(struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(z_limits); i++) {
		char path[64];

		(void)snprintf(path, sizeof path, "/proc/sys/user/%s", z_limits[i].file);
		int r = file_write(AT_FDCWD, path, z_limits[i].value);

		if (r < 0 && r != -ENOENT)
			return err_set(e, -r, "limit %s: %s", z_limits[i].file, strerror(-r));
	}
	return 0;
}

int holder_image_fd(struct err *e)
{
	size_t n = (size_t)(holder_image_end - holder_image);
	autoclose int fd = memfd_create("atoll-holder", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return err_sys(e, "make the program");
	int r = fd_write_all(fd, holder_image, n);

	if (r < 0)
		return err_set(e, -r, "write the program: %s", strerror(-r));
	(void)fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	return take_fd(&fd);
}

/* Pid 1 of Z. Returns only on failure. */
static int holder_run(int go, int image, struct err *e)
{
	char *argv[] = { "atoll-holder", NULL }, *envp[] = { NULL };
	char c;

	if (read(go, &c, 1) != 1)
		return err_set(e, EPIPE, "wait for the id map");
	if (caps_become(0, 0, e) < 0 || make_root(e) < 0 || limit_z(e) < 0)
		return -e->no;
	(void)setsid();
	/* Every other fd of ours is close-on-exec, but those that the caller inherited need not be. */
	for (int i = 0; i < 3; i++)
		(void)close(i);
	(void)syscall(SYS_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC);
	(void)syscall(SYS_execveat, image, "", argv, envp, AT_EMPTY_PATH);
	return err_sys(e, "run atoll-holder");
}

static int maker_run(const struct holder_config *cfg, const struct cgroup_seat *seat, int sock, struct err *e)
{
	struct id_map maps[SLOT_MAPS];
	int go[2], pidfd = -1;
	struct slot s;
	autoclose int image = holder_image_fd(e);

	slot_fill(cfg->instance, 0, &s);
	if (image < 0 || cgroup_sit(seat, 0, e) < 0)
		return -e->no;
	if (pipe2(go, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	if (caps_keep_across_uids(e) < 0 || caps_become(s.z_base, s.z_base, e) < 0)
		return -e->no;
	pid_t pid = userns_fork(HOLDER_FLAGS, -1, &pidfd);

	if (pid < 0)
		return err_set(e, -pid, "make namespaces: %s", strerror(-pid));
	if (pid == 0) {
		close(go[1]);
		(void)holder_run(go[0], image, e);
		(void)fd_send(sock, e, sizeof *e, NULL, 0);
		_exit(1);
	}
	if (userns_maps(pid, maps, slot_maps(cfg->instance, maps), e) < 0) {
		(void)proc_kill(pidfd);
		return -e->no;
	}
	/* The holder continues once the caller has recorded it, and exits if the caller dies first. */
	if (fd_send(sock, "p", 1, (int[]) { pidfd, go[1] }, 2) != 1)
		return err_sys(e, "pass the holder on");
	return 0;
}

/* Name of a holder's record until the holder is complete and may be used. */
static void pending_name(const char *key, char ret[NAME_MAX + 1])
{
	(void)snprintf(ret, NAME_MAX + 1, ".%.200s.pending", key);
}

static int note_down(const struct holder_config *cfg, const char *name, int pidfd, int go, struct err *e)
{
	if (proc_record_write(cfg->dir_fd, name, cfg->boot_id, pidfd, e) < 0)
		return -e->no;
	return write(go, "g", 1) == 1 ? 0 : err_sys(e, "let the new holder go on");
}

/* Replaces *e by the error that the holder sent before it exited, if any. Does not block. */
static void last_words(int sock, struct err *e)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };
	struct err why;
	size_t n_fds;

	if (poll(&p, 1, 0) > 0 && p.revents & POLLIN &&
	    fd_recv(sock, &why, sizeof why, NULL, 0, &n_fds) == (ssize_t)sizeof why && why.no > 0)
		*e = why;
}

/* Receives the pidfd, then the end of the socket once the holder has executed its program; or an error instead. */
static int await_holder(const struct holder_config *cfg, const char *key, int sock, int *ret_pidfd, struct err *e)
{
	autoclose int pidfd = -1;
	char buf[sizeof *e], name[NAME_MAX + 1];

	pending_name(key, name);
	for (;;) {
		int fds[2] = { -1, -1 };
		size_t n_fds = 0;
		ssize_t n = fd_recv(sock, buf, sizeof buf, fds, 2, &n_fds);

		if (n == (ssize_t)sizeof *e) {
			memcpy(e, buf, sizeof *e);
			break;
		}
		if (n == 0 && pidfd >= 0 && proc_wait_gone(pidfd, 0) < 0) {
			if (renameat(cfg->dir_fd, name, cfg->dir_fd, key) < 0) {
				(void)err_sys(e, "write the record of the holder");
				break;
			}
			*ret_pidfd = take_fd(&pidfd);
			return 0;
		}
		if (n != 1 || n_fds != 2 || pidfd >= 0) {
			(void)err_set(e, n < 0 ? (int)-n : EPIPE, "the new holder ended early");
			break;
		}
		pidfd = fds[0];
		int r = note_down(cfg, name, pidfd, fds[1], e);

		fd_close(fds[1]);
		if (r < 0) {
			last_words(sock, e);
			break;
		}
	}
	if (pidfd >= 0) {
		(void)proc_kill(pidfd);
		(void)unlinkat(cfg->dir_fd, name, 0);
	}
	return -e->no;
}

static int holder_make(const struct holder_config *cfg, const char *key, int *ret_pidfd, struct err *e)
{
	struct cgroup_seat seat;
	struct cgroup_limits lim = { .pids = 64 };
	autoclose int maker_fd = -1;
	int sock[2], status;

	if (cgroup_make(cfg->cgroups, HOLDER_CGROUP, &lim, e) < 0 ||
	    cgroup_seat_open(cfg->cgroups, HOLDER_CGROUP, &seat, e) < 0)
		return -e->no;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0)
		return err_sys(e, "make a socket pair");
	pid_t maker = userns_fork(0, seat.into_fd, &maker_fd);

	if (maker == 0) {
		close(sock[0]);
		if (maker_run(cfg, &seat, sock[1], e) < 0)
			(void)fd_send(sock[1], e, sizeof *e, NULL, 0);
		_exit(0);
	}
	close(sock[1]);
	cgroup_seat_close(&seat);
	int r = maker < 0 ? err_set(e, -maker, "fork: %s", strerror(-maker))
			  : await_holder(cfg, key, sock[0], ret_pidfd, e);

	close(sock[0]);
	while (maker > 0 && waitpid(maker, &status, 0) < 0 && errno == EINTR)
		;
	return r;
}

void holder_close(struct holder *h)
{
	fd_close(h->pidfd);
	fd_close(h->user);
	fd_close(h->mnt);
	*h = HOLDER_NONE;
}

/* A killed holder loses its namespaces some time before its pidfd reports the exit: the kernel first kills all
 * processes in its pid namespace. -ESTALE: an earlier server made it, for fewer slots than there are now. */
static int open_spaces(const struct holder_config *cfg, int pidfd, struct holder *ret)
{
	struct id_map maps[SLOT_MAPS];
	bool fits = false;
	char path[48];
	pid_t pid;

	*ret = HOLDER_NONE;
	ret->pidfd = pidfd;
	if (proc_pid_of(pidfd, &pid) == 0) {
		fits = userns_has_maps(pid, maps, slot_maps(cfg->instance, maps));
		(void)snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
		ret->user = open(path, O_RDONLY | O_CLOEXEC);
		(void)snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)pid);
		ret->mnt = open(path, O_RDONLY | O_CLOEXEC);
	}
	bool lives = ret->user >= 0 && ret->mnt >= 0 && proc_wait_gone(pidfd, 0) < 0; /* so the pid was not reused */

	if (lives && fits)
		return 0;
	holder_close(ret);
	return lives ? -ESTALE : -ESRCH;
}

int holder_find(const struct holder_config *cfg, const char *key, struct holder *ret)
{
	int pidfd, r = proc_record_open(cfg->dir_fd, key, cfg->boot_id, &pidfd);

	return r < 0 ? r : open_spaces(cfg, pidfd, ret);
}

static int make_anew(const struct holder_config *cfg, const char *key, struct holder *ret, struct err *e)
{
	int pidfd = -1;

	if (holder_make(cfg, key, &pidfd, e) < 0)
		return -e->no;
	return open_spaces(cfg, pidfd, ret) < 0 ? err_set(e, ESRCH, "it has ended at once") : 0;
}

int holder_get(const struct holder_config *cfg, const char *key, struct holder *ret, struct err *e)
{
	autoclose int lock = -1, pidfd = -1;
	char name[NAME_MAX + 1];

	if (holder_find(cfg, key, ret) == 0)
		return 0;
	lock = openat(cfg->dir_fd, ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (lock < 0 || flock(lock, LOCK_EX) < 0)
		return err_sys(e, "lock the holders");
	int r = holder_find(cfg, key, ret);

	if (r == 0) /* another builder was faster */
		return 0;
	pending_name(key, name);
	/* its maker was killed meanwhile */
	if (proc_record_open(cfg->dir_fd, name, cfg->boot_id, &pidfd) == 0)
		(void)proc_kill(pidfd);
	if (make_anew(cfg, key, ret, e) < 0)
		return err_wrap(e, "make the holder of template '%.8s'", key);
	/* The old one lives on without a record: the sandboxes of early versions die with theirs. */
	if (r == -ESTALE)
		log_info("replaced a holder that was made for fewer sandboxes", "template=%.8s", key);
	return 0;
}

void holder_end_strays(const struct holder_config *cfg)
{
	int fd = openat(cfg->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	bool any = false;

	for (struct dirent *de; d && (de = readdir(d));)
		any = any || de->d_name[0] != '.';
	if (d)
		(void)closedir(d);
	if (d && !any)
		cgroup_kill(cfg->cgroups, HOLDER_CGROUP);
}

void holder_end_all(const struct holder_config *cfg)
{
	int fd = openat(cfg->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d) {
		fd_close(fd);
		return;
	}
	for (struct dirent *de; (de = readdir(d));) {
		autoclose int pidfd = -1;

		if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
			continue;
		if (proc_record_open(cfg->dir_fd, de->d_name, cfg->boot_id, &pidfd) == 0) {
			(void)proc_kill(pidfd);
			if (proc_wait_gone(pidfd, END_TIMEOUT_MS) < 0)
				log_warn("a holder does not exit, leaving it", "template=%.8s", de->d_name);
		}
		(void)unlinkat(cfg->dir_fd, de->d_name, 0);
	}
	(void)closedir(d);
	holder_end_strays(cfg); /* those that were replaced */
}
