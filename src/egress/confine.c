/* SPDX-License-Identifier: Apache-2.0 */
/* confine: an allow list of the system calls that a forwarder and a proxy make; all others fail. Of the file
 * system, only the directories of resolv.conf are readable. */
#include "egress/confine.h"

#include <fcntl.h>
#include <sys/socket.h>

#include "base/cage.h"
#include "base/fd.h"

static const int allowed[] = {
	SCMP_SYS(read),
	SCMP_SYS(write),
	SCMP_SYS(readv),
	SCMP_SYS(writev),
	SCMP_SYS(close),
	SCMP_SYS(recvfrom),
	SCMP_SYS(recvmsg),
	SCMP_SYS(sendto),
	SCMP_SYS(sendmsg),
	SCMP_SYS(connect),
	SCMP_SYS(accept4),
	SCMP_SYS(shutdown),
	SCMP_SYS(splice),
	SCMP_SYS(pipe2),
	SCMP_SYS(getsockopt),
	SCMP_SYS(setsockopt),
	SCMP_SYS(getsockname),
	SCMP_SYS(getpeername),
	SCMP_SYS(epoll_create1),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(fcntl),
	SCMP_SYS(newfstatat),
	SCMP_SYS(fstat),
	SCMP_SYS(statx),
	SCMP_SYS(lseek),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(getrandom),
	SCMP_SYS(futex),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

static int add_more(scmp_filter_ctx ctx)
{
	/* resolv.conf is read again when it changes; nothing is ever written or created. */
	int r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
	    SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY));

	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_EQ, AF_INET));
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_EQ, AF_INET6));
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1, SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
	return r;
}

int egress_confine(struct err *e)
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
