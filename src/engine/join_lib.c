/* SPDX-License-Identifier: Apache-2.0 */
/* join_lib: what a warm interpreter calls to leave copies of itself in sandboxes; carried inside atolld (join_image.c).
 *
 * Loaded by the template's own interpreter, whatever C library that has: it is linked against none and takes fork() and the like
 * from the process it is in.
 *
 *	zygote ──vfork──▶ M: shares the zygote's memory, joins the sandbox's user and pid namespaces
 *	                   └──vfork──▶ A: shares it too, and is in that pid namespace, where orphans go to the sandbox's pid 1
 *	                                └──fork──▶ G: the copy, orphaned at once
 *
 * Only the last fork copies page tables, which is what a fork of a large process costs. M and A never return: G does, in a memory
 * of its own, and from the zygote's stack frame. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/caps_kept.h"

#define OOM_SCORE "500"			/* as of everything that init starts: pid 1 goes last */

#define ENTER_FLAGS (CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

int atoll_fork(int userns, int pidns);
int atoll_enter(int pidfd);
int atoll_visible(void);

/* 0 in the copy, its pid (in its own pid namespace) in the caller, or -errno. The copy's parent is pid 1 of its pid
 * namespace: of the one given, or with -1 of our own. Fds of namespaces, not the pidfd: for that we would need CAP_SYS_PTRACE over all sandboxes of the template. */
int atoll_fork(int userns, int pidns)
{
	volatile int pid = -ECHILD;	/* written by M or A, in our memory */
	int status;
	pid_t m = vfork();

	if (m == 0) {
		pid_t a = userns < 0 ? 0 : -1;

		if (userns >= 0) {
			if (setns(userns, CLONE_NEWUSER) == 0 && setns(pidns, CLONE_NEWPID) == 0)
				a = vfork();
			if (a < 0)
				pid = -errno;
			if (a > 0)
				(void)waitpid(a, &status, 0);
		}
		if (a == 0) {
			pid_t g = fork();

			if (g == 0)
				return 0;
			pid = g < 0 ? -errno : g;
		}
		_exit(0);
	}
	if (m < 0)
		return -errno;
	while (waitpid(m, &status, 0) < 0 && errno == EINTR)
		;
	return pid;
}

/* The one call that the zygote's filter allows beyond a sandbox's. */
static int refuse_setns(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setns, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof code / sizeof *code, code };

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0 ? -errno : 0;
}

static int confine(void)
{
	uint64_t keep = CAPS_KEPT;
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2] = {
		{ .effective = (uint32_t)keep, .permitted = (uint32_t)keep },
		{ .effective = (uint32_t)(keep >> 32), .permitted = (uint32_t)(keep >> 32) },
	};

	for (int c = 0; c < 64; c++) {
		if (keep & 1ull << c)
			continue;
		if (prctl(PR_CAPBSET_DROP, c, 0, 0, 0) < 0) {
			if (errno == EINVAL && c > CAP_SETFCAP)
				break;
			return -errno;
		}
	}
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 || prctl(PR_SET_SECUREBITS, 0, 0, 0, 0) < 0)
		return -errno;
	return syscall(SYS_capset, &h, d) < 0 ? -errno : 0;
}

/* In a copy: the rest of the way into the sandbox, once that is finished, down to the power that its pid 1 has. Until this is
 * done nobody in there may look at us: we are not dumpable. */
int atoll_enter(int pidfd)
{
	if (setns(pidfd, ENTER_FLAGS) < 0)
		return -errno;
	/* Not libc's: those would send signals to threads it believes in. */
	if (syscall(SYS_setgroups, 0, NULL) < 0 || syscall(SYS_setresgid, 0, 0, 0) < 0 || syscall(SYS_setresuid, 0, 0, 0) < 0)
		return -errno;
	if (chdir("/") < 0)
		return -errno;
	(void)setsid();
	(void)umask(022);
	int r = refuse_setns();

	if (r == 0)
		r = confine();
	return r == 0 ? atoll_visible() : r;
}

/* After a change of uid: like any program of that user. */
int atoll_visible(void)
{
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		return -errno;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		(void)!write(fd, OOM_SCORE, sizeof OOM_SCORE - 1);
		(void)close(fd);
	}
	return 0;
}
