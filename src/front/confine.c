/* SPDX-License-Identifier: Apache-2.0 */
/* front/confine: no new privileges, then an allow list of system calls, and no file system.
 *
 * After confine_late() the front can open no file, execute nothing, and create no sockets but socket pairs.
 * Connections come from the listeners, from the warden and from atoll-agent. SQLite has its files open by then:
 * WAL and its index are created by the first write, in auth_open(). */
#include "front/confine.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/build.h"
#include "base/cage.h"
#include "base/fd.h"

#define FDS_MAX 65536 /* more are never needed */

static const int allowed[] = {
	/* the loop */
	SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(eventfd2),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(pipe2),
	/* sockets created by others */
	SCMP_SYS(accept4),
	SCMP_SYS(accept),
	SCMP_SYS(recvmsg),
	SCMP_SYS(sendmsg),
	SCMP_SYS(recvfrom),
	SCMP_SYS(sendto),
	SCMP_SYS(shutdown),
	SCMP_SYS(setsockopt),
	SCMP_SYS(getsockopt),
	SCMP_SYS(getsockname),
	SCMP_SYS(getpeername),
	SCMP_SYS(read),
	SCMP_SYS(readv),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(splice),
	SCMP_SYS(close),
	/* SQLite, on files that are open */
	SCMP_SYS(pread64),
	SCMP_SYS(pwrite64),
	SCMP_SYS(lseek),
	SCMP_SYS(fsync),
	SCMP_SYS(fdatasync),
	SCMP_SYS(ftruncate),
	SCMP_SYS(fallocate),
	SCMP_SYS(fcntl),
	SCMP_SYS(fstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(stat),
	SCMP_SYS(lstat),
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(statx),
	/* memory */
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	/* time, randomness, own process */
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(nanosleep),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(time),
	SCMP_SYS(getrandom),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getegid),
	SCMP_SYS(futex),
	SCMP_SYS(sched_yield),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

int confine_early(uint32_t *ret_fds, struct err *e)
{
	struct rlimit lim;

	if (cage_refuse_rings(e) < 0)
		return -e->no;
	if (!build_is_sanitized && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_sys(e, "refuse dumps");
	if (getrlimit(RLIMIT_NOFILE, &lim) < 0)
		return err_sys(e, "read the limit of open files");

	rlim_t cur = lim.rlim_cur;

	lim.rlim_cur = lim.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &lim) == 0)
		cur = lim.rlim_max; /* on failure there are fewer connections, but the front works */
	*ret_fds = cur < FDS_MAX ? (uint32_t)cur : FDS_MAX;
	return 0;
}

/* Socket pairs: one end goes to atoll-agent; they reach no other process. */
static int add_more(scmp_filter_ctx ctx)
{
	return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1, SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
}

int confine_late(struct err *e)
{
	return cage_close(&(struct cage) { .calls = allowed, .n_calls = ARRAY_LEN(allowed), .more = add_more }, e);
}
