/* SPDX-License-Identifier: Apache-2.0 */
/* join_lib: what a zygote calls to fork copies of itself into sandboxes; embedded in atolld (join_image.c).
 *
 * It is loaded by the template's own interpreter, with whatever C library that has: it is linked against none and
 * takes vfork() and the like from the process it is in.
 *
 *	zygote ──vfork──▶ M: shares the zygote's memory, joins the sandbox's pid namespace for its children
 *	                  └──vfork──▶ A: shares it too, in that pid namespace: orphans go to the sandbox's pid 1
 *	                              └──clone──▶ G: the copy, orphaned at once
 *
 * Only the last one copies page tables, which is what makes a fork of a large process expensive. M and A never
 * return: G does, in an address space of its own, from the zygote's stack frame.
 *
 * The zygote waits for A, which processes in the sandbox can see. They may be a user's by then, and root there has all
 * capabilities over the sandbox's user namespace. So A does not join that one: a process that stays in Z, with a uid of
 * Z, cannot be signalled, traced, frozen or given limits from inside. The kernel kills it with its pid namespace, which
 * ends the wait. G joins when nobody waits for it any more, after it has closed what is not the sandbox's. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/caps_drop.h"
#include "engine/caps_kept.h"
#include "engine/core.h"
#include "engine/zygote/join_lib.h"

#define OOM_SCORE "500" /* like all processes that init starts: pid 1 is killed last */

#define ENTER_FLAGS (CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

/* What libc told the kernel about its one thread: the address of its thread id, and its list of robust locks. A
 * copy that libc does not make itself must register them again. */
struct thread {
	int *tid;
	void *robust;
	size_t robust_size;
};

static int thread_of_libc(struct thread *ret)
{
	if (prctl(PR_GET_TID_ADDRESS, &ret->tid, 0, 0, 0) < 0 ||
	    syscall(SYS_get_robust_list, 0, &ret->robust, &ret->robust_size) < 0)
		return -errno;
	return 0;
}

static char program[256]; /* the interpreter's path, the same in every sandbox of the template; "": unknown */

/* The limit on file size was for the file that our memory is written to; copies have that of any process in a
 * sandbox. */
static int lift_file_limit(void)
{
	struct rlimit64 l;

	if (syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &l) < 0)
		return -errno;
	l.rlim_cur = l.rlim_max;
	return syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, &l, NULL) < 0 ? -errno : 0;
}

int atoll_prepare(void)
{
	struct thread t;
	int r = thread_of_libc(&t); /* without it there can be no copy */
	ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);

	program[n > 0 ? n : 0] = '\0';
	struct stat st;
	int base = fstat(JOIN_BASE_FD, &st) == 0 && S_ISREG(st.st_mode) ? JOIN_BASE_FD : -1;

	if (r == 0)
		r = memory_detach(base);
	if (base >= 0)
		(void)close(base);
	return r < 0 ? r : lift_file_limit();
}

/* This is not libc's fork(), which holds libc's locks meanwhile. A would call it, sharing the zygote's memory, and
 * A can be killed at any moment together with its sandbox. The locks would then stay held for ever, and each later
 * copy would wait for them. There is no other thread that could hold one now, so a plain copy of the memory is
 * sound. Handlers of pthread_atfork() do not run. */
static int copy_process(const struct thread *t)
{
	/* The address of the thread id is the fourth argument on some machines and the fifth on others, which
	 * ignore the other one here. */
	long pid = syscall(SYS_clone, CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD, 0, 0, t->tid, t->tid);

	if (pid == 0 && t->robust)
		(void)syscall(SYS_set_robust_list, t->robust, t->robust_size);
	return pid < 0 ? -errno : (int)pid;
}

/* Returns 0 in the copy, its pid (in its own pid namespace) in the caller, or -errno. The copy's parent is pid 1
 * of its pid namespace: of the one given, or with -1 of our own. Takes fds of namespaces and not the pidfd, which
 * would need CAP_SYS_PTRACE over all sandboxes of the template. M and A write nothing that outlives them but pid. */
int atoll_fork(int pidns)
{
	volatile int pid = -ECHILD; /* written by M or A, in our memory; unchanged if A is killed */
	struct thread t;
	int status, r = thread_of_libc(&t);

	if (r < 0)
		return r;
	pid_t m = vfork();

	if (m == 0) {
		pid_t a = pidns < 0 ? 0 : -1;

		if (pidns >= 0) {
			/* Of the memory that M and A share, and so of the zygote and the copy. */
			if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 && setns(pidns, CLONE_NEWPID) == 0)
				a = vfork();
			if (a < 0)
				pid = -errno;
			if (a > 0)
				(void)waitpid(a, &status, 0);
		}
		if (a == 0) {
			int g = copy_process(&t);

			if (g == 0)
				return 0;
			pid = g;
		}
		_exit(0);
	}
	if (m < 0)
		return -errno;
	while (waitpid(m, &status, 0) < 0 && errno == EINTR)
		;
	return pid;
}

/* Denies the one call that the zygote's filter allows beyond a sandbox's. */
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

/* Runs in the sandbox's mounts, still with all capabilities over its namespaces: of what is mounted there, it
 * opens only the file that becomes our /proc/PID/exe, and executes nothing. Returns 0 or -errno. */
static int settle_inside(void)
{
	/* Not libc's functions: those would signal threads that libc believes to exist. */
	if (syscall(SYS_setgroups, 0, NULL) < 0 || syscall(SYS_setresgid, 0, 0, 0) < 0 ||
	    syscall(SYS_setresuid, 0, 0, 0) < 0)
		return -errno;
	if (chdir("/") < 0)
		return -errno;
	(void)setsid();
	(void)umask(022);
	core_share_with_init();
	/* While we still may. If the sandbox has removed the file, the zygote's stays. */
	(void)memory_name_exe(program);
	int r = refuse_setns();

	return r == 0 ? caps_drop(CAPS_KEPT) : r;
}

/* Not above the zygote's own limit. */
static int limit_open_files(unsigned n)
{
	struct rlimit64 l;

	if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &l) < 0)
		return -errno;
	l.rlim_max = n < l.rlim_max ? n : l.rlim_max;
	l.rlim_cur = l.rlim_max;
	return syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &l, NULL) < 0 ? -errno : 0;
}

/* Standard streams of the sandbox instead of the zygote's. Anything may be mounted there by now; no power is left. */
static int take_null(void)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	for (int i = 0; fd >= 0 && i < 3; i++) {
		if (dup2(fd, i) < 0)
			return -errno;
	}
	return fd < 0 ? -errno : close(fd);
}

/* Called in a copy, once its sandbox is complete: joins the remaining namespaces and drops to the privileges of
 * the sandbox's pid 1. From the first setns() on root inside may signal us, and it could take our descriptors and our
 * memory if we were dumpable: we are not, and the user namespace that owns our memory is Z. At the end we hold nothing
 * but what is the sandbox's. A failure is fatal: an interpreter that continues, if only to report the error, loads
 * files of the sandbox, and would do so with more privileges than any process inside may have. */
void atoll_enter(unsigned open_files)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0 ||
	    limit_open_files(open_files) < 0)
		_exit(1);
	if (setns(JOIN_USERNS_FD, CLONE_NEWUSER) < 0 || setns(JOIN_PID_FD, ENTER_FLAGS) < 0 ||
	    syscall(SYS_dup3, JOIN_SEED_FD, JOIN_KEPT_FD, O_CLOEXEC) < 0 ||
	    syscall(SYS_close_range, JOIN_KEPT_FD + 1, ~0u, 0) < 0)
		_exit(1);
	if (settle_inside() < 0 || take_null() < 0 || atoll_visible() < 0)
		_exit(1);
}

/* After a change of uid: makes the process dumpable again, like any program of that user. */
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
