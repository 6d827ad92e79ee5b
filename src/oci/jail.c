/* SPDX-License-Identifier: Apache-2.0 */
/* oci/jail: uids, resource limits, capabilities, seccomp filters. */
#include "oci/jail.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/build.h"
#include "base/fd.h"
#include "base/inherited.h"
#include "engine/caps.h"
#include "engine/caps_drop.h"
#include "engine/caps_kept.h"
#include "engine/mounts.h"

#define MEMORY_MAX (1ull << 30)
#define NAMESPACES \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

#define END INT_MIN /* 0 is a valid call: read() */

/* I/O on open fds, memory, time, exit. */
static const int calls_plain[] = {
	SCMP_SYS(read),
	SCMP_SYS(write),
	SCMP_SYS(readv),
	SCMP_SYS(writev),
	SCMP_SYS(close),
	SCMP_SYS(lseek),
	SCMP_SYS(mmap),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(mprotect),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(futex),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(getrandom),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(tgkill),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	END,
};

static const int calls_reader[] = {
	SCMP_SYS(pread64),
	SCMP_SYS(fstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
	SCMP_SYS(fcntl),
	SCMP_SYS(pipe2),
	SCMP_SYS(sendmsg),
	SCMP_SYS(sendto),
	SCMP_SYS(recvmsg),
	SCMP_SYS(recvfrom),
	SCMP_SYS(openat2),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(dup),
	END,
};

static const int calls_network[] = {
	SCMP_SYS(connect),
	SCMP_SYS(shutdown),
	SCMP_SYS(getsockopt),
	SCMP_SYS(setsockopt),
	SCMP_SYS(getsockname),
	SCMP_SYS(getpeername),
	SCMP_SYS(bind),
	SCMP_SYS(sendmmsg),
	SCMP_SYS(recvmmsg),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(select),
	SCMP_SYS(pselect6),
	SCMP_SYS(epoll_create1),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(eventfd2),
	SCMP_SYS(socketpair),
	SCMP_SYS(ioctl),
	SCMP_SYS(wait4),
	SCMP_SYS(waitid),
	SCMP_SYS(nanosleep),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(sched_yield),
	SCMP_SYS(uname),
	SCMP_SYS(sysinfo),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getegid),
	SCMP_SYS(getppid),
	SCMP_SYS(access),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(getdents64),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(getcwd),
	SCMP_SYS(prctl),
	SCMP_SYS(set_tid_address),
	SCMP_SYS(prlimit64),
	END,
};

static const int calls_applier[] = {
	SCMP_SYS(openat),
	SCMP_SYS(fstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
	SCMP_SYS(fcntl),
	SCMP_SYS(getdents64),
	SCMP_SYS(mkdirat),
	SCMP_SYS(unlinkat),
	SCMP_SYS(symlinkat),
	SCMP_SYS(linkat),
	SCMP_SYS(readlinkat),
	SCMP_SYS(fchown),
	SCMP_SYS(fchownat),
	SCMP_SYS(fchmod),
	SCMP_SYS(fchmodat),
	SCMP_SYS(utimensat),
	SCMP_SYS(fsetxattr),
	SCMP_SYS(ftruncate),
	SCMP_SYS(pipe2),
	SCMP_SYS(recvmsg),
	SCMP_SYS(sendmsg),
	SCMP_SYS(sendto),
	SCMP_SYS(wait4),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(getppid),
	SCMP_SYS(prctl),
	SCMP_SYS(capset),
	SCMP_SYS(capget),
	SCMP_SYS(seccomp),
	SCMP_SYS(kill),
	SCMP_SYS(prlimit64),
	END,
};

static int allow(scmp_filter_ctx ctx, const int *calls)
{
	int r = 0;

	for (; r == 0 && *calls != END; calls++) {
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, *calls, 0);
		if (r == -EDOM || r == -EFAULT) /* the call does not exist on this architecture */
			r = 0;
	}
	return r;
}

/* Allows a fork or a thread without new namespaces. glibc tries clone3 first, whose flags a filter cannot see. */
static int allow_fork(scmp_filter_ctx ctx)
{
	int r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, NAMESPACES, 0));

	return r < 0 ? r : seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

static int allow_reading(scmp_filter_ctx ctx)
{
	return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
	    SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY));
}

static int allow_sockets(scmp_filter_ctx ctx)
{
	int r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_EQ, AF_INET));

	return r < 0 ? r : seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_EQ, AF_INET6));
}

/* Of all that mknodat() makes, allows only FIFOs, which need no privilege. */
static int allow_fifo(scmp_filter_ctx ctx)
{
	return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mknodat), 1,
	    SCMP_A2(SCMP_CMP_MASKED_EQ, 0170000, 0010000));
}

enum { FORK = 1, READING = 2, SOCKETS = 4, FIFO = 8 };

static int filter(const int *more[], unsigned extra, struct err *e)
{
	if (build_is_sanitized)
		return 0;

	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int r = ctx ? allow(ctx, calls_plain) : -ENOMEM;

	for (; r == 0 && *more; more++)
		r = allow(ctx, *more);
	if (r == 0 && (extra & FORK))
		r = allow_fork(ctx);
	if (r == 0 && (extra & READING))
		r = allow_reading(ctx);
	if (r == 0 && (extra & SOCKETS))
		r = allow_sockets(ctx);
	if (r == 0 && (extra & FIFO))
		r = allow_fifo(ctx);
	if (r == 0)
		r = seccomp_load(ctx);
	if (ctx)
		seccomp_release(ctx);
	return r < 0 ? err_set(e, -r, "install the filter of system calls: %s", strerror(-r)) : 0;
}

static int limit(int what, rlim_t n, struct err *e)
{
	int r = rlimit_lower(what, n);

	return r < 0 ? err_set(e, -r, "set a limit: %s", strerror(-r)) : 0;
}

/* For all processes: no core dumps with untrusted bytes, die together with the keeper, no new privileges. */
static int settle(struct err *e)
{
	if (limit(RLIMIT_CORE, 0, e) < 0)
		return -e->no;
	if (!build_is_sanitized && limit(RLIMIT_AS, MEMORY_MAX, e) < 0)
		return -e->no;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(e, "give up power");
	(void)signal(SIGPIPE, SIG_IGN);
	return 0;
}

/* The bounding set stays: it has no effect with no_new_privs, and lowering it would need a capability that is
 * already dropped. */
static int no_caps(struct err *e)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[2] = { 0 };

	return syscall(SYS_capset, &h, none) < 0 ? err_sys(e, "drop capabilities") : 0;
}

static int become(uid_t uid, struct err *e)
{
	if (limit(RLIMIT_NOFILE, 256, e) < 0 || limit(RLIMIT_NPROC, 64, e) < 0 || caps_become(uid, uid, e) < 0)
		return -e->no;
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return no_caps(e) < 0 ? -e->no : settle(e);
}

int jail_fetcher(uid_t uid, struct err *e)
{
	if (become(uid, e) < 0)
		return -e->no;
	return filter((const int *[]) { calls_reader, calls_network, NULL }, FORK | READING | SOCKETS, e);
}

/* Keeps CAP_DAC_READ_SEARCH, after changing the root to dir_fd. */
static int read_all_below(int dir_fd, uid_t uid, struct err *e)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const uint32_t keep = 1u << CAP_DAC_READ_SEARCH;
	const struct __user_cap_data_struct d[2] = { { .effective = keep, .permitted = keep } };

	if (fchdir(dir_fd) < 0 || chroot(".") < 0 || prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		return err_sys(e, "enter the layout");
	if (caps_become(uid, uid, e) < 0)
		return -e->no;
	return syscall(SYS_capset, &h, d) < 0 ? err_sys(e, "drop capabilities") : 0;
}

int jail_reader(uid_t uid, int dir_fd, struct err *e)
{
	if (dir_fd < 0) {
		if (become(uid, e) < 0)
			return -e->no;
		return filter((const int *[]) { calls_reader, NULL }, 0, e);
	}
	if (limit(RLIMIT_NOFILE, 256, e) < 0 || read_all_below(dir_fd, uid, e) < 0 || settle(e) < 0)
		return -e->no;
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return filter((const int *[]) { calls_reader, NULL }, READING, e);
}

int jail_applier(int root_fd, struct err *e)
{
	const uint64_t keep = CAPS_BIT(CAP_CHOWN) | CAPS_BIT(CAP_DAC_OVERRIDE) | CAPS_BIT(CAP_FOWNER) |
	    CAPS_BIT(CAP_FSETID) | CAPS_BIT(CAP_SETFCAP);

	/* "/proc" is an arbitrary mount point: the old root is detached right afterwards. */
	if (mount_make_private(e) < 0 || mount_put(root_fd, AT_FDCWD, "/proc", e) < 0 || mount_pivot(root_fd, e) < 0)
		return err_wrap(e, "enter the image's directory");
	errno = -caps_drop(keep);
	if (errno)
		return err_sys(e, "drop capabilities");
	(void)umask(0);
	if (limit(RLIMIT_NOFILE, 1024, e) < 0 || settle(e) < 0)
		return -e->no;
	return filter((const int *[]) { calls_applier, NULL }, FORK | FIFO, e);
}

int jail_expander(struct err *e)
{
	if (no_caps(e) < 0 || settle(e) < 0)
		return -e->no;
	return filter((const int *[]) { NULL }, 0, e);
}

int jail_keeper(struct err *e)
{
	errno = -caps_drop(CAPS_BIT(CAP_DAC_OVERRIDE) | CAPS_BIT(CAP_FOWNER) | CAPS_BIT(CAP_KILL));
	if (errno)
		return err_sys(e, "drop capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(e, "give up power");
	return 0;
}
