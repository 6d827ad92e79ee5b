/* SPDX-License-Identifier: Apache-2.0 */
/* cage_client: a list of the system calls that an HTTP client makes; all others fail. Of the file system only the
 * resolver's files stay accessible. libcurl resolves names in threads, so threads are allowed; exec is not. */
#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>

#include "base/cage.h"
#include "base/fd.h"

#define NAMESPACES \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

static const int allowed[] = {
	/* sockets and pipes */
	SCMP_SYS(read),
	SCMP_SYS(write),
	SCMP_SYS(readv),
	SCMP_SYS(writev),
	SCMP_SYS(close),
	SCMP_SYS(recvfrom),
	SCMP_SYS(recvmsg),
	SCMP_SYS(sendto),
	SCMP_SYS(sendmsg),
	SCMP_SYS(sendmmsg),
	SCMP_SYS(recvmmsg),
	SCMP_SYS(connect),
	SCMP_SYS(shutdown),
	SCMP_SYS(pipe2),
	SCMP_SYS(eventfd2),
	SCMP_SYS(getsockopt),
	SCMP_SYS(setsockopt),
	SCMP_SYS(getsockname),
	SCMP_SYS(getpeername),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(fcntl),
	/* files of the resolver */
	SCMP_SYS(newfstatat),
	SCMP_SYS(fstat),
	SCMP_SYS(statx),
	SCMP_SYS(lseek),
	SCMP_SYS(uname),
	/* memory, threads */
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(futex),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(sched_yield),
	/* time, random numbers, the process itself */
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(getrandom),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getegid),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

static int add_more(scmp_filter_ctx ctx)
{
	static const int families[] = { AF_INET, AF_INET6 };
	int r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
	    SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY));

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(families); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
		    SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)families[i]));
	if (r == 0) /* libcurl wakes itself up with it */
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1, SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
	/* Threads. glibc tries clone3 first, whose flags a filter cannot see. */
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
		    SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD | NAMESPACES, CLONE_THREAD));
	return r ? r : seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

int cage_close_client(struct err *e)
{
	struct cage_resolver files;

	cage_resolver_init(&files);
	return cage_close(&(struct cage) { .calls = allowed,
			      .n_calls = ARRAY_LEN(allowed),
			      .more = add_more,
			      .paths = files.paths,
			      .n_paths = ARRAY_LEN(files.paths),
			      .landlock_flags = LANDLOCK_MAY_CONNECT },
	    e);
}
