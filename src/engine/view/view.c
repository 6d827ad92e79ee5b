/* SPDX-License-Identifier: Apache-2.0 */
/* view: makes or takes over the FUSE file system of views, and keeps its process running. */
#include "engine/view/view.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cage.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "engine/caps.h"
#include "engine/cgroup/cgroup.h"
#include "engine/mounts.h"

#define DEVICE "/dev/fuse"
#define NAME "atoll-view"
#define NOBODY 65534
#define HAND_OVER_S 2
#define STUCK_MS 10000
#define CPUINFO_MAX (4 << 20)
#define MOUNT_AT "/usr" /* any directory; covered only in its own mount namespace */
#define QUIET (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

uint64_t view_now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* --- atoll-view, until it serves ---------------------------------------------------------------------------------- */

static const int allowed[] = {
	SCMP_SYS(read),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(close),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(accept4),
	SCMP_SYS(sendmsg),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(brk),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(getpid),
	SCMP_SYS(getppid),
	SCMP_SYS(gettid),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(futex),
	SCMP_SYS(fstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(dup3),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

static int add_more(scmp_filter_ctx ctx)
{
	return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
	    SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY));
}

static int drop_power(const struct view *v, struct err *e)
{
	static const struct landlock_path all = { "/", LANDLOCK_READ_FILES };
	struct rlimit none = { 0, 0 };

	(void)setrlimit(RLIMIT_CORE, &none);
	for (int c = 0; prctl(PR_CAPBSET_READ, c, 0, 0, 0) >= 0; c++) {
		if (prctl(PR_CAPBSET_DROP, c, 0, 0, 0) < 0)
			return err_sys(e, "cut the bounding set");
	}
	if (caps_become(v->uid ? v->uid : NOBODY, NOBODY, e) < 0)
		return -e->no;
	return cage_close(&(struct cage) { .calls = allowed,
			      .n_calls = ARRAY_LEN(allowed),
			      .more = add_more,
			      .paths = &all,
			      .n_paths = 1 },
	    e);
}

/* Its root contains only the sandboxes' cgroups, read-only; it keeps none of our own mounts. */
static int enter_root(const struct view *v, struct err *e)
{
	static const struct mount_opt small[] = { { "size", "64k" }, { "nr_inodes", "32" }, { "mode", "755" } };
	int *at[CGROUP_DIRS_MAX], clones[CGROUP_DIRS_MAX];
	size_t n = cgroup_dirs(v->cgroups, at);
	autoclose int root = -1;
	char name[8];

	for (size_t i = 0; i < n; i++) { /* possible only in our own mount namespace */
		if (mount_clone(*at[i], "", MOUNT_ATTR_RDONLY | QUIET, &clones[i], e) < 0)
			return -e->no;
	}
	if (unshare(CLONE_NEWNS) < 0)
		return err_sys(e, "make a mount namespace");
	if (mount_make_private(e) < 0 || mount_new("tmpfs", small, ARRAY_LEN(small), QUIET, &root, e) < 0 ||
	    mount_put(root, AT_FDCWD, MOUNT_AT, e) < 0)
		return -e->no;
	for (size_t i = 0; i < n; i++) {
		(void)snprintf(name, sizeof name, "%zu", i);
		if (mkdirat(root, name, 0755) < 0)
			return err_sys(e, "fill the root");
		if (mount_put(clones[i], root, name, e) < 0)
			return -e->no;
		fd_close(*at[i]);
		*at[i] = clones[i];
	}
	return mount_pivot(root, e);
}

static _Noreturn void become(const struct view *v, int device)
{
	int *dirs[CGROUP_DIRS_MAX], keep[CGROUP_DIRS_MAX + 4] = { device, v->device, v->mount, v->listener };
	size_t n = cgroup_dirs(v->cgroups, dirs);
	struct err e = ERR_INIT;
	sigset_t none;
	int null;

	for (size_t i = 0; i < n; i++)
		keep[4 + i] = *dirs[i];
	fd_close_others(keep, 4 + n);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (char **var = environ; var && *var; var++) /* meant only for the warden */
		memset(*var, 0, strlen(*var));
	(void)prctl(PR_SET_NAME, NAME, 0, 0, 0);
	(void)setsid();
	for (int s = 1; s < NSIG; s++)
		(void)signal(s, SIG_DFL);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (enter_root(v, &e) < 0 || drop_power(v, &e) < 0) {
		log_error("could not confine " NAME, "err=%s", e.text);
		_exit(1);
	}
	/* It may outlive the warden, and a process that reads the warden's output waits until the last writer
	 * closes it. */
	for (int i = 0; null >= 0 && i < 3; i++)
		(void)dup3(null, i, 0);
	view_serve(v, device);
}

/* --- lifetime ------------------------------------------------------------------------------------------------- */

/* Each process has its own clone of the device: closing its last fd aborts the requests that it had begun. */
static int start(struct view *v, struct err *e)
{
	autoclose int device = open(DEVICE, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	uint32_t master = (uint32_t)v->device;

	if (device < 0 || ioctl(device, FUSE_DEV_IOC_CLONE, &master) < 0)
		return err_sys(e, "clone '" DEVICE "'");
	pid_t pid = fork();

	if (pid < 0)
		return err_sys(e, "fork");
	if (pid == 0)
		become(v, device);
	v->pid = pid;
	v->started_ms = view_now();
	return 0;
}

/* Readers wait for its replies, so a process that makes no progress is replaced. */
static void end_if_stuck(const struct view *v)
{
	uint64_t beat = v->rows[v->n_rows].born_ms, now = view_now();

	if (v->pid > 0 && now - v->started_ms > STUCK_MS && now - beat > STUCK_MS && now > beat) {
		log_warn(NAME " makes no progress, killing it", "ms=%llu", (unsigned long long)(now - beat));
		(void)kill(v->pid, SIGKILL);
	}
}

void view_tick(struct view *v)
{
	struct err e = ERR_INIT;
	int status = 0;

	if (v->dir < 0)
		return;
	end_if_stuck(v);
	if (v->pid > 0 && waitpid(v->pid, &status, WNOHANG) == 0)
		return;
	log_warn(NAME " exited, restarting it", "status=0x%x", (unsigned)status);
	v->pid = 0;
	if (start(v, &e) < 0)
		log_error("could not start " NAME ", retrying", "err=%s", e.text);
}

void view_renew(struct view *v)
{
	if (v->pid > 0)
		(void)kill(v->pid, SIGKILL);
	view_tick(v);
}

/* --- the file system ------------------------------------------------------------------------------------------ */

static int take_over(struct view *v, struct err *e)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct timeval patience = { .tv_sec = HAND_OVER_S };
	autoclose int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int fds[2] = { -1, -1 };
	size_t n = 0;
	char c;

	if (!str_copy(to.sun_path, sizeof to.sun_path, str_of(v->socket_path)))
		return err_set(e, ENAMETOOLONG, "'%s' is too long", v->socket_path);
	if (sock < 0 || connect(sock, (struct sockaddr *)&to, sizeof to) < 0)
		return err_set(e, ENOENT, "there is none");
	(void)setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	if (fd_recv(sock, &c, 1, fds, 2, &n) != 1 || n != 2) {
		log_warn("the " NAME " of the previous server does not answer: running sandboxes lose their view",
		    "path=%s", v->socket_path);
		return err_set(e, EPIPE, "it does not answer");
	}
	v->device = fds[0];
	v->mount = fds[1];
	return 0;
}

static int make(struct view *v, struct err *e)
{
	char fd[16];
	const struct mount_opt opts[] = {
		{ "source", NAME },
		{ "fd", fd },
		{ "rootmode", "40000" },
		{ "user_id", "0" },
		{ "group_id", "0" },
		{ "allow_other", NULL },
	};

	v->device = open(DEVICE, O_RDWR | O_CLOEXEC);
	if (v->device < 0)
		return err_sys(e, "open '" DEVICE "'");
	(void)snprintf(fd, sizeof fd, "%d", v->device);
	return mount_new("fuse", opts, ARRAY_LEN(opts), QUIET | MOUNT_ATTR_RDONLY, &v->mount, e);
}

/* Attaches the mount in our own namespace, where it can be cloned from. The mount that is handed on stays
 * detached. */
static int attach(struct view *v, struct err *e)
{
	if (mkdir(v->path, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make '%s'", v->path);
	if (mount_put(v->mount, AT_FDCWD, v->path, e) < 0)
		return -e->no;
	fd_close(take_fd(&v->mount));
	v->dir = open(v->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (v->dir < 0)
		return err_sys(e, "open '%s'", v->path);
	return mount_clone(v->dir, "", 0, &v->mount, e);
}

static int listen_there(struct view *v, struct err *e)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	if (!str_copy(at.sun_path, sizeof at.sun_path, str_of(v->socket_path)))
		return err_set(e, ENAMETOOLONG, "'%s' is too long", v->socket_path);
	(void)unlink(v->socket_path);
	v->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (v->listener < 0 || bind(v->listener, (struct sockaddr *)&at, sizeof at) < 0 ||
	    chmod(v->socket_path, 0600) < 0 || listen(v->listener, 1) < 0)
		return err_sys(e, "listen on '%s'", v->socket_path);
	return 0;
}

static char *read_cpuinfo(void)
{
	char *text = malloc(CPUINFO_MAX);
	ssize_t n = text ? file_read(AT_FDCWD, "/proc/cpuinfo", text, CPUINFO_MAX) : -1;
	char *fit = n < 0 ? strdup("") : realloc(text, (size_t)n + 1);

	if (n < 0)
		free(text);
	return fit;
}

static int open_all(struct view *v, const char *run_dir, struct err *e)
{
	v->path = str_fmt("%s/view", run_dir);
	v->socket_path = str_fmt("%s/view.sock", run_dir);
	v->cpuinfo = read_cpuinfo();
	v->rows = mmap(NULL, (v->n_rows + 1) * sizeof *v->rows, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	    0);
	if (v->rows == MAP_FAILED)
		v->rows = NULL;
	if (!v->path || !v->socket_path || !v->cpuinfo || !v->rows)
		return err_set(e, ENOMEM, "out of memory");
	if (take_over(v, e) < 0) {
		*e = ERR_INIT;
		if (make(v, e) < 0)
			return -e->no;
	}
	if (attach(v, e) < 0 || listen_there(v, e) < 0)
		return -e->no;
	return start(v, e);
}

void view_open(struct view *v, const char *run_dir, size_t slots, uid_t uid, struct cgroup_tree *cgroups)
{
	struct err e = ERR_INIT;

	*v = VIEW_NONE;
	v->n_rows = slots;
	v->uid = uid;
	v->cgroups = cgroups;
	cpus_allowed(&v->cpus);
	if (open_all(v, run_dir, &e) == 0)
		return;
	log_warn("sandboxes see the memory and processors of the host, not their own", "err=%s", e.text);
	fd_close(take_fd(&v->dir));
}

void view_close(struct view *v, bool all)
{
	if (all && v->pid > 0) {
		(void)kill(v->pid, SIGKILL);
		(void)waitpid(v->pid, NULL, 0);
	}
	if (v->path)
		(void)umount2(v->path, MNT_DETACH);
	if (all && v->path) {
		(void)unlink(v->socket_path);
		(void)rmdir(v->path);
	}
	fd_close(v->device);
	fd_close(v->mount);
	fd_close(v->dir);
	fd_close(v->listener);
	if (v->rows)
		(void)munmap(v->rows, (v->n_rows + 1) * sizeof *v->rows);
	free(v->path);
	free(v->socket_path);
	free(v->cpuinfo);
	*v = VIEW_NONE;
}

/* --- sandboxes ------------------------------------------------------------------------------------------------ */

uint64_t view_born(uint64_t started_wall_ms)
{
	uint64_t wall = clock_wall_ms(), boot = view_now(), age = wall > started_wall_ms ? wall - started_wall_ms : 0;

	return boot > age ? boot - age : 1;
}

void view_set(struct view *v, const struct engine_spec *spec, const struct engine_limits *l, uint64_t extra_bytes,
    uint64_t born_ms)
{
	struct view_row *row = v->rows && spec->slot < v->n_rows ? &v->rows[spec->slot] : NULL;

	if (!row)
		return;
	bool known = strncmp(row->id, spec->id, sizeof row->id) == 0;
	uint32_t version = (row->version | 1) + 2; /* odd, even if the last writer was killed */

	__atomic_store_n(&row->version, version, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memcpy(row->id, spec->id, sizeof row->id);
	row->slot = spec->slot;
	row->cpu_permille = l->cpu_permille;
	row->mem_bytes = l->mem_bytes;
	row->swap_bytes = l->swap_bytes;
	row->extra_bytes = extra_bytes;
	row->born_ms = born_ms ? born_ms : known ? row->born_ms : view_now();
	__atomic_store_n(&row->version, version + 1, __ATOMIC_RELEASE);
}

/* One request for all files of a slot that has not been used yet, instead of one for each. The kernel caches the
 * result. */
static void fetch(const struct view *v, const char *slot)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_CACHED };
	char path[32], entries[4096];

	(void)snprintf(path, sizeof path, "%s/%s", slot, view_names[VIEW_CPUS]);
	autoclose int known = (int)syscall(SYS_openat2, v->dir, path, &how, sizeof how), dir = -1;

	if (known >= 0)
		return;
	dir = openat(v->dir, slot, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir >= 0)
		(void)!syscall(SYS_getdents64, dir, entries, sizeof entries);
}

int view_clone(const struct view *v, uint32_t slot, int *ret_fd, struct err *e)
{
	char name[16];

	if (v->dir < 0)
		return 0;
	(void)snprintf(name, sizeof name, "%u", slot);
	fetch(v, name);
	return mount_clone(v->dir, name, QUIET | MOUNT_ATTR_RDONLY, ret_fd, e) < 0 ? err_wrap(e, "view") : 0;
}
