/* SPDX-License-Identifier: Apache-2.0 */
/* join_lib: what a warm interpreter calls to leave copies of itself in sandboxes; carried inside atolld (join_image.c).
 *
 * Loaded by the template's own interpreter, whatever C library that has: it is linked against none and takes vfork()
 * and the like from the process it is in.
 *
 *	zygote ──vfork──▶ M: shares the zygote's memory, joins the sandbox's user and pid namespaces
 *	└──vfork──▶ A: shares it too, and is in that pid namespace, where orphans go to the sandbox's pid 1
 *	                                └──clone──▶ G: the copy, orphaned at once
 *
 * Only the last one copies page tables, which is what a fork of a large process costs. M and A never return: G does, in
 * a memory of its own, and from the zygote's stack frame. */
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

#define OOM_SCORE "500" /* as of everything that init starts: pid 1 goes last */

#define ENTER_FLAGS (CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

/* What libc told the kernel about its one thread: where its thread id is kept, and its list of robust locks. A copy
 * that libc does not make itself needs them said again. */
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

static char program[256]; /* the interpreter's path, the same in every sandbox of the template; "": not known */

/* The limit of a file's size was for the one that our memory is written to; copies have that of any process in a
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
	int r = thread_of_libc(&t); /* without, there can be no copy */
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

/* Not libc's fork(), which holds libc's locks meanwhile: it would be called by A, whose memory is the zygote's too, and
 * A can be killed at any moment, with its sandbox. The locks would be held for ever then, and each later copy would
 * wait for them. Nobody else can hold one now, since there is no other thread; so a plain copy of the memory is sound.
 * Handlers of pthread_atfork() do not run. */
static int copy_process(const struct thread *t)
{
	/* Where the thread id goes is the fourth argument on some machines and the fifth, which the others ignore here,
	 * on the rest. */
	long pid = syscall(SYS_clone, CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD, 0, 0, t->tid, t->tid);

	if (pid == 0 && t->robust)
		(void)syscall(SYS_set_robust_list, t->robust, t->robust_size);
	return pid < 0 ? -errno : (int)pid;
}

/* 0 in the copy, its pid (in its own pid namespace) in the caller, or -errno. The copy's parent is pid 1 of its pid
 * namespace: of the one given, or with -1 of our own. Fds of namespaces, not the pidfd: for that we would need
 * CAP_SYS_PTRACE over all sandboxes of the template. M and A write nothing that outlives them but pid. */
int atoll_fork(int userns, int pidns)
{
	volatile int pid = -ECHILD; /* written by M or A, in our memory; left so if A is killed */
	struct thread t;
	int status, r = thread_of_libc(&t);

	if (r < 0)
		return r;
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

/* In the sandbox's mounts, with all power over its namespaces still: nothing of what is mounted there is run or read
 * here but the one file that becomes our program's name. 0 or -errno. */
static int settle_inside(void)
{
	/* Not libc's: those would send signals to threads it believes in. */
	if (syscall(SYS_setgroups, 0, NULL) < 0 || syscall(SYS_setresgid, 0, 0, 0) < 0 ||
	    syscall(SYS_setresuid, 0, 0, 0) < 0)
		return -errno;
	if (chdir("/") < 0)
		return -errno;
	(void)setsid();
	(void)umask(022);
	core_share_with_init();
	/* While we still may. Whoever has removed it from the sandbox keeps the zygote's. */
	(void)memory_name_exe(program);
	int r = refuse_setns();

	return r == 0 ? caps_drop(CAPS_KEPT) : r;
}

/* In a copy: the rest of the way into the sandbox, once that is finished, down to the power that its pid 1 has. Until
 * this is done nobody in there may look at us: we are not dumpable. Halfway there is no way back: an interpreter that
 * goes on, if only to say what went wrong, loads files of the sandbox, and it would do so with more power than anything
 * in there may have. */
int atoll_enter(int pidfd)
{
	if (setns(pidfd, ENTER_FLAGS) < 0)
		return -errno;
	if (settle_inside() < 0)
		_exit(1);
	return atoll_visible();
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
