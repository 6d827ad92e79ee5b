/* SPDX-License-Identifier: Apache-2.0 */
/* filter: ways around the system call filter. The call behind each is unshare(CLONE_NEWUSER) or mount(), which nobody
 * may. */
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/reg.h>
#include <sys/wait.h>

#include "attempt.h"

struct seen {
	int looked;
	char bad[80];
};

static int check_filter(int pid, void *user)
{
	struct seen *s = user;
	char path[64], text[4096], *at;

	(void)snprintf(path, sizeof path, "/proc/%d/status", pid);
	if (slurp(path, text, sizeof text) <= 0 || !(at = strstr(text, "\nSeccomp:")))
		return 0;
	s->looked++;
	if (at[10] != '2')
		(void)snprintf(s->bad, sizeof s->bad, "process %d has no filter", pid);
	return s->bad[0] != '\0';
}

static int on_all(void)
{
	struct seen s = { 0 };

	(void)each_process(check_filter, &s);
	if (s.bad[0])
		return broken("%s", s.bad);
	return s.looked > 1 ? held("on all %d processes", s.looked) : unclear("%d processes seen", s.looked);
}

/* A filter of one's own is put on top; one that allows all takes nothing away. */
static int laxer(void)
{
	struct sock_filter yes[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog prog = { 1, yes };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		return unclear("a filter of its own: %s", errno_name(errno));
	return SYS(SYS_unshare, CLONE_NEWUSER);
}

static int disabled(void)
{
	return prctl(PR_SET_SECCOMP, 0, 0, 0, 0) < 0 ? -errno : 0;
}

/* A tracer that is told of the call before the kernel is, and writes another number into it. */
static int rewrite(int entry)
{
	pid_t pid = fork();
	int status;
	long r;

	if (pid == 0) {
		(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		(void)raise(SIGSTOP);
		(void)syscall(SYS_getppid, CLONE_NEWUSER);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status))
		return unclear("no tracee");
	do {
		if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) < 0 || waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status))
			return unclear("trace: %s", errno_name(errno));
		r = ptrace(PTRACE_PEEKUSER, pid, 8 * ORIG_RAX, NULL);
	} while (r != SYS_getppid);
	if (ptrace(PTRACE_POKEUSER, pid, 8 * ORIG_RAX, (long)entry) < 0)
		return unclear("poke: %s", errno_name(errno));
	if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) < 0 || waitpid(pid, &status, 0) < 0)
		return unclear("go on: %s", errno_name(errno));
	r = WIFSTOPPED(status) ? ptrace(PTRACE_PEEKUSER, pid, 8 * RAX, NULL) : 0;
	/* A call that the filter kills for is undone first, and the signal comes after that. */
	if (WIFSTOPPED(status) && r == entry && ptrace(PTRACE_CONT, pid, NULL, NULL) == 0)
		(void)waitpid(pid, &status, 0);
	bool killed = WIFSTOPPED(status) && WSTOPSIG(status) == SIGSYS;

	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	if (killed)
		return held("killed by the filter");
	if (!WIFSTOPPED(status))
		return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS ? held("killed by the filter")
									 : unclear("it ended");
	return r < 0 ? (int)r : broken("status %x, answer %ld", status, r);
}

static int rewrite_unshare(void)
{
	return rewrite(SYS_unshare);
}
static int rewrite_x32(void)
{
	return rewrite(0x40000000 | SYS_unshare);
}

/* CRIU's way to switch a filter off. */
static int suspend(void)
{
	pid_t pid = fork();
	int status, r;

	if (pid == 0) {
		(void)pause();
		_exit(0);
	}
	if (pid < 0)
		return unclear("fork: %s", errno_name(errno));
	r = ptrace(PTRACE_SEIZE, pid, NULL, (void *)0x00200000L) < 0 ? -errno : 0;
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, &status, 0);
	return r;
}

/* Reading the filter out tells an attacker what is left; only the administrator may. */
static int get_filter(void)
{
	pid_t pid = fork();
	static struct sock_filter out[4096];
	int status, r;

	if (pid == 0) {
		(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		(void)raise(SIGSTOP);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status))
		return unclear("no tracee");
	r = ptrace(0x420c, pid, (void *)0, out) < 0 ? -errno : 0;
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, &status, 0);
	return r;
}

static int i386(void)
{
	int r;

	__asm__ volatile("int $0x80" : "=a"(r) : "a"(20) : "memory");
	return r == getpid() ? broken("getpid was served") : unclear("an answer: %d", r);
}

/* Into a 32-bit code segment, and from there: the same table of calls, another way in. */
static int far_call(void)
{
	static const unsigned char code[] = {
		0xb8, 20, 0, 0, 0, /* mov eax, getpid */
		0xcd, 0x80,        /* int 0x80 */
		0xcb,              /* retf */
	};
	unsigned char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT,
	    -1, 0);
	/* not on the stack, which is changed */
	static struct {
		unsigned off;
		unsigned short seg;
	} __attribute__((packed)) to = { 0, 0x23 };
	int r;

	if (p == MAP_FAILED)
		return unclear("mmap: %s", errno_name(errno));
	memcpy(p, code, sizeof code);
	to.off = (unsigned)(unsigned long)p;
	unsigned long low = (unsigned long)p + 8192 - 64;

	__asm__ volatile("mov %%rsp, %%r12\n\tmov %2, %%rsp\n\tlcall *%1\n\tmov %%r12, %%rsp"
	    : "=a"(r)
	    : "m"(to), "r"(low)
	    : "memory", "r12", "rcx", "r11");
	return r == getpid() ? broken("getpid was served") : unclear("an answer: %d", r);
}

static int x32(void)
{
	long r = syscall(0x40000000 | SYS_getpid);

	return r == getpid() ? broken("getpid was served") : r < 0 ? -errno : unclear("an answer: %ld", r);
}

static int x32_unshare(void)
{
	return SYS(0x40000000 | SYS_unshare, CLONE_NEWUSER);
}

/* Numbers with anything in the upper half: the kernel cuts it off. */
static int high_number(void)
{
	long r;

	__asm__ volatile("syscall"
	    : "=a"(r)
	    : "a"((1ul << 32) | SYS_unshare), "D"(CLONE_NEWUSER)
	    : "rcx", "r11", "memory");
	return r < 0 ? (int)r : 0;
}

static int number(long nr)
{
	long r;

	__asm__ volatile("syscall" : "=a"(r) : "a"(nr), "D"(0), "S"(0), "d"(0) : "rcx", "r11", "memory");
	return r < 0 ? (int)r : 0;
}

static int negative(void)
{
	return number(-1);
}
static int beyond(void)
{
	return number(100000);
}
static int audit_bit(void)
{
	return number(0x20000000);
}

static const char whole[] = "the filter is on every process and cannot be taken off or passed by";
static const char abis[] = "no system call by another ABI";

static const struct attempt attempts[] = {
	{ "filter/on-all-processes", whole, on_all },
	{ "filter/laxer-filter", whole, laxer, .expect = { EPERM } },
	{ "filter/switch-off", whole, disabled, .expect = { EINVAL } },
	{ "filter/rewrite-by-tracer", whole, rewrite_unshare, .expect = { EPERM }, .flags = OUTSIDE },
	{ "filter/rewrite-to-x32", whole, rewrite_x32, .expect = { EPERM, ENOSYS } },
	{ "filter/suspend", whole, suspend, .expect = { EPERM } },
	{ "filter/read-out", whole, get_filter, .expect = { EACCES } },
	{ "filter/int80", abis, i386 },
	{ "filter/far-call", abis, far_call },
	{ "filter/x32", abis, x32, .expect = { ENOSYS } },
	{ "filter/x32-unshare", abis, x32_unshare, .expect = { ENOSYS } },
	{ "filter/high-bits-of-number", whole, high_number, .expect = { EPERM, ENOSYS } },
	{ "filter/negative-number", whole, negative, .expect = { ENOSYS } },
	{ "filter/number-beyond", whole, beyond, .expect = { ENOSYS } },
	{ "filter/number-bit-29", whole, audit_bit, .expect = { ENOSYS } },
};
GROUP(filter, "filter");
