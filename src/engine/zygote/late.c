/* SPDX-License-Identifier: Apache-2.0 */
/* zygote_late: a seed for a sandbox that runs already, made in a child of the warden when its init has rung.
 *
 * Programs of a user run in the sandbox, so whoever rings may be one of them, and what joins the sandbox meets them.
 * Only the sandbox's pid 1 is answered, nothing that it sends is read here, and the seed reads it when it has the
 * power of any process inside. The copy waits outside of the sandbox's user namespace until it is in its cgroups, and
 * then drops its power in the same order as one that is late for a start (join_lib.c). */
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "engine/holder.h"
#include "engine/ns.h"
#include "engine/zygote/base.h"
#include "engine/zygote/impl.h"

#define CALLS_MAX 8 /* more than the bell's queue holds */

static bool is_over(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };

	return poll(&p, 1, 0) != 0;
}

/* Accepts calls until one is pid 1's, and it still waits. -EAGAIN: none. */
static int answer(int bell, pid_t init)
{
	for (int i = 0; i < CALLS_MAX; i++) {
		autoclose int fd = accept4(bell, NULL, NULL, SOCK_CLOEXEC);
		struct ucred cred = { .pid = -1 };
		socklen_t n = sizeof cred;

		if (fd < 0)
			return -errno;
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) == 0 && cred.pid == init && !is_over(fd))
			return take_fd(&fd);
	}
	return -EAGAIN;
}

static bool is_below(pid_t pid, int z_fd)
{
	struct stat above, z;
	char path[48];

	(void)snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
	autoclose int userns = open(path, O_RDONLY | O_CLOEXEC);
	autoclose int parent = userns < 0 ? -1 : ioctl(userns, NS_GET_PARENT);

	return parent >= 0 && fstat(parent, &above) == 0 && fstat(z_fd, &z) == 0 && above.st_ino == z.st_ino &&
	    above.st_dev == z.st_dev;
}

/* A checkpoint can name one file with the memory of a zygote, so all copies of a sandbox are of the same zygote. */
static bool is_of_this_zygote(struct engine *en, const struct engine_record *r)
{
	autoclose int sandbox = -1, zygote = -1;
	struct err ignored = ERR_INIT;
	char id[ZYGOTE_NAME_SIZE];

	zygote_cgroup(r->spec.template_key, id);
	return en->bases_fd < 0 ||
	    (cgroup_freezer(en->cgroups, r->spec.id, &sandbox, &ignored) == 0 &&
		cgroup_freezer(en->cgroups, id, &zygote, &ignored) == 0 && base_agrees(en->bases_fd, sandbox, zygote));
}

/* Its zygote, if that can make a copy for the sandbox. The move into the cgroups heeds no limit of processes. */
static int find_zygote(struct engine *en, const struct engine_record *r, int *ret_fd, struct err *e)
{
	struct holder h = HOLDER_NONE;
	struct cgroup_usage us;
	int no = 0;

	if (cgroup_usage(en->cgroups, r->spec.id, &us, e) < 0)
		return -e->no;
	if (r->spec.limits.pids && us.pids >= r->spec.limits.pids)
		return err_set(e, EDQUOT, "the sandbox has %u processes", us.pids);
	if (!is_of_this_zygote(en, r))
		return err_set(e, ESTALE, "the zygote is not the one of its other interpreters");
	if (holder_find(&en->holder, r->spec.template_key, &h) < 0 || !is_below(r->pid, h.user))
		no = ESTALE;
	else
		no = -zygote_connect_in(&en->zygote, r->spec.template_key, h.user, ret_fd);
	holder_close(&h);
	return no ? err_set(e, no, "no zygote has power over it") : 0;
}

static int open_seed(int zygote, pid_t pid, struct err *e)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return err_sys(e, "open the seed");
	if (!is_over(zygote)) /* it holds the other end, so the pid is its own */
		return fd;
	fd_close(fd);
	return err_set(e, ESRCH, "the seed has ended");
}

/* Moves it in and lets it go on, once it is known to whoever may have to end it. */
static int admit(struct engine *en, const struct engine_record *r, int zygote, pid_t pid,
    int (*made)(void *arg, int seed), void *arg, struct err *e)
{
	struct cgroup_seat seat = CGROUP_SEAT_NONE;
	int fd = open_seed(zygote, pid, e);
	int no = fd < 0 ? 0 : -made(arg, fd);

	if (no)
		(void)err_set(e, no, "report the seed");
	if (!e->no && cgroup_seat_open(en->cgroups, r->spec.id, &seat, e) == 0 && cgroup_move(&seat, pid, e) == 0)
		zygote_go(zygote, r->spec.limits.open_files);
	cgroup_seat_close(&seat);
	return -e->no;
}

int ns_seed(struct engine *en, const struct engine_record *r, int pidfd, int bell, int (*made)(void *arg, int seed),
    void *arg, struct err *e)
{
	autoclose int zygote = -1, proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	autoclose int call = answer(bell, r->pid);
	pid_t pid;

	if (call < 0)
		return err_set(e, -call, "its init does not ring");
	if (proc < 0)
		return err_sys(e, "open /proc");
	if (find_zygote(en, r, &zygote, e) < 0)
		return -e->no;
	int no = -zygote_ask(zygote, proc, r->pid, pidfd, call);

	if (no)
		return err_set(e, no, "ask the zygote");
	if (zygote_await(zygote, pidfd, &pid, e) < 0)
		return -e->no;
	return admit(en, r, zygote, pid, made, arg, e);
}
