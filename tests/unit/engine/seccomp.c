/* SPDX-License-Identifier: Apache-2.0 */
/* Units of engine/seccomp: what the filters refuse and how, tried in a child that has them. */
#include <stdint.h>

#include <errno.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "engine/seccomp/seccomp.h"
#include "engine/seccomp/table.h"
#include "unit.h"

/* 0, or the number of the line that went wrong. */
#define REFUSED(no, call) \
	do { \
		errno = 0; \
		if ((call) != -1 || errno != (no)) \
			return __LINE__; \
	} while (0)
#define ALLOWED(call) \
	do { \
		if ((call) < 0) \
			return __LINE__; \
	} while (0)

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
	int pair[2];

	REFUSED(EAFNOSUPPORT, socket(AF_PACKET, SOCK_RAW, 0));
	REFUSED(EAFNOSUPPORT, socket(AF_NETLINK, SOCK_RAW, 9)); /* audit */
	REFUSED(EAFNOSUPPORT, socket(38, SOCK_SEQPACKET, 0));   /* AF_ALG */
	REFUSED(EAFNOSUPPORT, socket(40, SOCK_STREAM, 0));      /* AF_VSOCK */
	REFUSED(EAFNOSUPPORT, socket(AF_AX25, SOCK_DGRAM, 0));
	REFUSED(EPROTONOSUPPORT, socket(AF_INET, SOCK_STREAM, 262)); /* MPTCP */
	REFUSED(EPROTONOSUPPORT, socket(AF_INET6, SOCK_STREAM, IPPROTO_SCTP));
	REFUSED(EPROTONOSUPPORT, socket(AF_INET, 6, IPPROTO_DCCP));
	REFUSED(EAFNOSUPPORT, socket(AF_INET, SOCK_PACKET, 0)); /* means AF_PACKET */
	REFUSED(EPERM, socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMPV6));
	REFUSED(ESOCKTNOSUPPORT, socket(AF_INET, SOCK_SEQPACKET, 0));   /* SCTP */
	REFUSED(EAFNOSUPPORT, socketpair(30, SOCK_SEQPACKET, 0, pair)); /* AF_TIPC */
	ALLOWED(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	REFUSED(ENOPROTOOPT, setsockopt(0, IPPROTO_TCP, TCP_MD5SIG, "", 0));
	REFUSED(ENOPROTOOPT, setsockopt(0, SOL_SOCKET, SO_ATTACH_FILTER, "", 0));
	REFUSED(ENOPROTOOPT, setsockopt(0, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, "", 0));
	REFUSED(EBADF, setsockopt(-1, SOL_SOCKET, SO_DETACH_FILTER, "", 0));
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
	REFUSED(ENOSYS, syscall(425, 1, NULL)); /* io_uring_setup */
	REFUSED(EPERM, syscall(SYS_bpf, 0, NULL, 0));
	REFUSED(EPERM, syscall(SYS_keyctl, 0, 0, 0, 0, 0));
	REFUSED(EPERM, syscall(SYS_mount, NULL, NULL, NULL, 0, NULL));
	REFUSED(EPERM, syscall(SYS_open_by_handle_at, 0, NULL, 0));
	REFUSED(ENOSYS, syscall(SYS_io_setup, 1, NULL));
	REFUSED(ENOSYS, syscall(999));
	REFUSED(EINVAL, syscall(SYS_seccomp, 1, 8, NULL));                         /* a filter with a listener, */
	REFUSED(EINVAL, syscall(SYS_seccomp, 0x100000001ul, 0x800000008ul, NULL)); /* however it is written */
	REFUSED(EFAULT, syscall(SYS_seccomp, 1, 0, NULL)); /* one without gets as far as its text */
	REFUSED(EPERM, syscall(SYS_ioctl, 0, TIOCSTI, ""));
	/* the kernel would look at the low half only */
	REFUSED(EPERM, syscall(SYS_ioctl, 0, 0x100000000ul | TIOCSTI, ""));
	/* W9: whatever is to be merged, and whatever line discipline is meant, and however the number is written. */
	REFUSED(EINVAL, syscall(SYS_prctl, 67, 1, 0, 0, 0));
	REFUSED(EINVAL, syscall(SYS_prctl, 0x100000043ul, 1, 0, 0, 0));
	REFUSED(EPERM, syscall(SYS_ioctl, 0, TIOCSETD, &(int) { 3 }));
	REFUSED(EPERM, syscall(SYS_ioctl, 0, 0x100000000ul | TIOCSETD, &(int) { 0 }));
	ALLOWED(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
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

	assert_int_equal(seccomp_filter_build(&f, 0, &e), 0);
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

static void refusals_are_explained(void **state)
{
	char name[SECCOMP_NAME_SIZE];
	unsigned here = seccomp_arch_native();

	(void)state;
	assert_non_null(strstr(seccomp_explain(here, SYS_keyctl, name), "keys"));
	assert_string_equal(name, "keyctl");
	assert_non_null(strstr(seccomp_explain(here, SYS_unshare, name), "namespace"));
	assert_non_null(strstr(seccomp_explain(here, SYS_setns, name), "namespace"));
	assert_non_null(strstr(seccomp_explain(here, SYS_io_setup, name), "threads"));
	(void)seccomp_explain(here, 9999, name);
	assert_string_equal(name, "syscall 9999");
	assert_non_null(strstr(seccomp_explain(AUDIT_ARCH_I386, 20, name), "another kind"));
	assert_string_equal(name, "syscall 20");
	assert_non_null(strstr(seccomp_explain(here, 0x40000000 | 39, name), "another kind"));
}

/* A call in two groups would get the verdict of whichever libseccomp sees first. */
static void no_call_is_listed_twice(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_seccomp_groups; i++) {
		struct str list = str_of(seccomp_groups[i].calls);

		while (list.p) {
			autofree char *word = str_dup(str_cut(&list, ' '));
			unsigned times = 0;

			for (size_t k = 0; k < n_seccomp_groups; k++) {
				struct str other = str_of(seccomp_groups[k].calls);

				while (other.p)
					times += str_is(str_cut(&other, ' '), word);
			}
			if (times != 1)
				fail_msg("'%s' is listed %u times", word, times);
		}
	}
}

#ifdef __x86_64__
static void x32(void)
{
	(void)syscall(0x40000000 | 39); /* getpid of x32 */
}

static void i386(void)
{
	long r = 20; /* getpid of i386, from a 64-bit program */

	__asm__ volatile("int $0x80" : "+a"(r) : : "memory", "r8", "r9", "r10", "r11");
}

static int signal_of(void (*call)(void))
{
	struct seccomp_filter f;
	struct err e = ERR_INIT;
	int status;

	assert_int_equal(seccomp_filter_build(&f, 0, &e), 0);
	pid_t pid = fork();

	if (pid == 0) {
		if (geteuid() != 0)
			(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		(void)seccomp_filter_install(&f, &e);
		call();
		_exit(0);
	}
	seccomp_filter_done(&f);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void calls_of_other_machines_end_the_program(void **state)
{
	(void)state;
	assert_int_equal(signal_of(x32), SIGSYS);
	int by_i386 = signal_of(i386);

	assert_true(by_i386 == SIGSYS || by_i386 == SIGSEGV); /* the latter from a kernel that does not have it */
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_new_namespaces),
		cmocka_unit_test(four_socket_families),
		cmocka_unit_test(what_is_refused_is_refused_as_expected),
		cmocka_unit_test(some_calls_do_nothing),
		cmocka_unit_test(refusals_are_explained),
		cmocka_unit_test(no_call_is_listed_twice),
#ifdef __x86_64__
		cmocka_unit_test(calls_of_other_machines_end_the_program),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
