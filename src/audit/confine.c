/* SPDX-License-Identifier: Apache-2.0 */
/* audit/confine: two fds, and /proc to be read. */
#include "audit/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "base/build.h"
#include "base/fd.h"
#include "base/landlock.h"

static const int allowed[] = {
	SCMP_SYS(recvfrom), SCMP_SYS(sendto), SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(close),
	SCMP_SYS(clock_gettime), SCMP_SYS(clock_nanosleep), SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(rt_sigreturn), SCMP_SYS(restart_syscall),
	SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(tgkill), SCMP_SYS(rt_sigprocmask), SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

static int add_rules(scmp_filter_ctx ctx)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(allowed); i++) {
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0);
		if (r == -EDOM || r == -EFAULT)		/* not a call of this machine */
			r = 0;
	}
	/* /proc/PID/status */
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY));
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	return r;
}

int confine(struct err *e)
{
	static const struct landlock_path proc = { "/proc", LANDLOCK_READ_FILES };

	if (build_is_sanitized)
		return 0;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_sys(e, "refuse dumps");
	int r = landlock_confine(&proc, 1, 0);

	if (r < 0 && r != -ENOSYS)
		return err_set(e, -r, "confine to a part of the file system: %s", strerror(-r));
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));

	r = ctx ? add_rules(ctx) : -ENOMEM;
	if (r == 0)
		r = seccomp_load(ctx);
	if (ctx)
		seccomp_release(ctx);
	return r < 0 ? err_set(e, -r, "install the system call filter: %s", strerror(-r)) : 0;
}
