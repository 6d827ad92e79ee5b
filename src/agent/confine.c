/* SPDX-License-Identifier: Apache-2.0 */
/* agent/confine: allows the system calls of a threaded HTTP server; all others fail. */
#include "agent/confine.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>

#include "base/build.h"
#include "base/cage.h"
#include "base/fd.h"

static const int allowed[] = {
	/* the loop */
	SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(eventfd2),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(pipe2),
	/* sockets: received or socketpair, never new ones */
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
	SCMP_SYS(fcntl),
	/* files; Landlock restricts them to its directory */
	SCMP_SYS(openat),
	SCMP_SYS(unlinkat),
	SCMP_SYS(unlink),
	SCMP_SYS(renameat),
	SCMP_SYS(rename),
	SCMP_SYS(pread64),
	SCMP_SYS(pwrite64),
	SCMP_SYS(lseek),
	SCMP_SYS(fsync),
	SCMP_SYS(fdatasync),
	SCMP_SYS(ftruncate),
	SCMP_SYS(fstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
	SCMP_SYS(getdents64),
	/* memory and threads */
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(futex),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sched_getaffinity),
	/* time, random numbers, own process */
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
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

/* Our sockets are connected before libcurl gets them. libcurl 7.88 (Debian 12) calls connect() on them anyway, so
 * connect() returns success without an effect. */
static int add_connect(scmp_filter_ctx ctx)
{
	return seccomp_rule_add(ctx, SCMP_ACT_ERRNO(0), SCMP_SYS(connect), 0);
}

/* A sanitizer build is not confined, but has the same libcurl. */
static int only_connect(struct err *e)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int r = ctx ? add_connect(ctx) : -ENOMEM;

	if (r == 0)
		r = seccomp_load(ctx);
	if (ctx)
		seccomp_release(ctx);
	return r < 0 ? err_set(e, -r, "install the system call filter: %s", strerror(-r)) : 0;
}

/* seccomp cannot see the flags of clone3(), which are behind a pointer. If it fails, libc uses clone() instead. */
static int add_more(scmp_filter_ctx ctx)
{
	const uint64_t thread = CLONE_VM | CLONE_THREAD | CLONE_SIGHAND;
	int r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);

	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
		    SCMP_A0(SCMP_CMP_MASKED_EQ, thread, thread));
	if (r == 0)
		r = add_connect(ctx);
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1, SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
	return r;
}

int agent_confine(const char *state_dir, struct err *e)
{
	const struct landlock_path paths[] = { { state_dir, LANDLOCK_READ_FILES | LANDLOCK_CHANGE_FILES } };

	if (build_is_sanitized)
		return only_connect(e);
	return cage_close(&(struct cage) { .calls = allowed,
			      .n_calls = ARRAY_LEN(allowed),
			      .more = add_more,
			      .paths = paths,
			      .n_paths = ARRAY_LEN(paths) },
	    e);
}
