/* SPDX-License-Identifier: Apache-2.0 */
/* Units of engine/seccomp: what the filters refuse and how, tried in a child that has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/seccomp.h"

/* 0, or the number of the line that went wrong. */
#define REFUSED(no, call) do { errno = 0; if ((call) != -1 || errno != (no)) return __LINE__; } while (0)
#define ALLOWED(call) do { if ((call) < 0) return __LINE__; } while (0)

static int namespaces(void)
{
	struct clone_args a = { .flags = 0, .exit_signal = SIGCHLD };

	REFUSED(EPERM, unshare(CLONE_NEWUSER));
	REFUSED(EPERM, unshare(CLONE_NEWNET | CLONE_FS));
	REFUSED(EPERM, syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
	REFUSED(EPERM, setns(0, 0));
	REFUSED(ENOSYS, syscall(SYS_clone3, &a, sizeof a));
	ALLOWED(unshare(CLONE_FS));
	return 0;
}

static int sockets(void)
{
	REFUSED(EAFNOSUPPORT, socket(AF_PACKET, SOCK_RAW, 0));
	REFUSED(EAFNOSUPPORT, socket(AF_NETLINK, SOCK_RAW, 9));	/* audit */
	REFUSED(EAFNOSUPPORT, socket(38, SOCK_SEQPACKET, 0));		/* AF_ALG */
	REFUSED(EAFNOSUPPORT, socket(40, SOCK_STREAM, 0));		/* AF_VSOCK */
	REFUSED(EAFNOSUPPORT, socket(AF_AX25, SOCK_DGRAM, 0));
	REFUSED(EPROTONOSUPPORT, socket(AF_INET, SOCK_STREAM, 262));	/* MPTCP */
	REFUSED(EPROTONOSUPPORT, socket(AF_INET6, SOCK_STREAM, IPPROTO_SCTP));
	REFUSED(EPROTONOSUPPORT, socket(AF_INET, 6, IPPROTO_DCCP));
	REFUSED(ENOPROTOOPT, setsockopt(0, IPPROTO_TCP, TCP_MD5SIG, "", 0));
	REFUSED(EBADF, setsockopt(-1, IPPROTO_TCP, TCP_NODELAY, "", 0));
	REFUSED(EINVAL, memfd_create("huge", MFD_HUGETLB));
	REFUSED(ENOMEM, (long)mmap(NULL, 2 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0));
	ALLOWED(socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP));
	ALLOWED(socket(AF_UNIX, SOCK_STREAM, 0));
	ALLOWED(socket(AF_INET, SOCK_STREAM, 0));
	ALLOWED(socket(AF_NETLINK, SOCK_RAW, 0));
	return 0;
}

static int others(void)
{
	REFUSED(ENOSYS, syscall(425, 1, NULL));			/* io_uring_setup */
	REFUSED(EPERM, syscall(SYS_bpf, 0, NULL, 0));
	REFUSED(EPERM, syscall(SYS_keyctl, 0, 0, 0, 0, 0));
	REFUSED(EPERM, syscall(SYS_mount, NULL, NULL, NULL, 0, NULL));
	REFUSED(EPERM, syscall(SYS_open_by_handle_at, 0, NULL, 0));
	REFUSED(ENOSYS, syscall(SYS_io_setup, 1, NULL));
	REFUSED(ENOSYS, syscall(999));
	REFUSED(EPERM, syscall(SYS_ioctl, 0, TIOCSTI, ""));
	REFUSED(EPERM, syscall(SYS_ioctl, 0, 0x100000000ul | TIOCSTI, ""));	/* the kernel would look at the low half only */
	ALLOWED(getpid());
	return 0;
}

static int pretended(void)
{
	struct rlimit was, is, zero = { 0, 0 };

	ALLOWED(syscall(SYS_sync));
	ALLOWED(getrlimit(RLIMIT_CORE, &was));
	ALLOWED(setrlimit(RLIMIT_CORE, &zero));
	ALLOWED(syscall(SYS_setrlimit, 0x100000000ul | RLIMIT_CORE, &zero));
	ALLOWED(getrlimit(RLIMIT_CORE, &is));
	return was.rlim_cur == is.rlim_cur && was.rlim_max == is.rlim_max ? 0 : __LINE__;
}

/* The exit status of a child that installed the filters and ran it. */
static int in_child(int (*test)(void))
{
	struct seccomp_filter f;
	struct err e = ERR_INIT;
	int status;

	assert_int_equal(seccomp_filter_build(&f, false, &e), 0);
	pid_t pid = fork();

	if (pid == 0) {
		struct rlimit core = { 1, 1 };

		(void)setrlimit(RLIMIT_CORE, &core);
		if (geteuid() != 0)
			(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if (seccomp_filter_install(&f, &e) < 0)
			_exit(255);
		_exit(test() & 0xff);
	}
	seccomp_filter_done(&f);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void no_new_namespaces(void **state)
{
	(void)state;
	assert_int_equal(in_child(namespaces), 0);
}

static void four_socket_families(void **state)
{
	(void)state;
	assert_int_equal(in_child(sockets), 0);
}

static void what_is_refused_is_refused_as_expected(void **state)
{
	(void)state;
	assert_int_equal(in_child(others), 0);
}

static void some_calls_do_nothing(void **state)
{
	(void)state;
	assert_int_equal(in_child(pretended), 0);
}

#ifdef __x86_64__
static int x32(void)
{
	return (int)syscall(0x40000000 | 39);			/* getpid of x32 */
}

static void x32_calls_end_the_program(void **state)
{
	struct seccomp_filter f;
	struct err e = ERR_INIT;
	int status;

	(void)state;
	assert_int_equal(seccomp_filter_build(&f, false, &e), 0);
	pid_t pid = fork();

	if (pid == 0) {
		if (geteuid() != 0)
			(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		(void)seccomp_filter_install(&f, &e);
		_exit(x32() & 0);
	}
	seccomp_filter_done(&f);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_new_namespaces),
		cmocka_unit_test(four_socket_families),
		cmocka_unit_test(what_is_refused_is_refused_as_expected),
		cmocka_unit_test(some_calls_do_nothing),
#ifdef __x86_64__
		cmocka_unit_test(x32_calls_end_the_program),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
