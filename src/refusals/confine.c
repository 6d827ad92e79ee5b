/* SPDX-License-Identifier: Apache-2.0 */
/* refusals/confine: two fds, and read access to /proc. */
#include "refusals/confine.h"

#include <fcntl.h>

#include "base/cage.h"
#include "base/fd.h"

static const int allowed[] = {
	SCMP_SYS(recvfrom),
	SCMP_SYS(sendto),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(read),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(close),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(brk),
	SCMP_SYS(munmap),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(fstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

/* /proc/PID/status */
static int add_more(scmp_filter_ctx ctx)
{
	return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
	    SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY));
}

int refusals_confine(struct err *e)
{
	static const struct landlock_path proc = { "/proc", LANDLOCK_READ_FILES };

	return cage_close(&(struct cage) { .calls = allowed,
			      .n_calls = ARRAY_LEN(allowed),
			      .more = add_more,
			      .paths = &proc,
			      .n_paths = 1 },
	    e);
}
