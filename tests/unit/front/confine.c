/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/confine: a front that was taken over tries to get further, in a child. */
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/build.h"
#include "front/confine.h"
#include "unit.h"

#define REFUSED(call) \
	do { \
		errno = 0; \
		if ((call) != -1 || errno != EPERM) \
			return __LINE__ & 0xff; \
	} while (0)
#define ALLOWED(call) \
	do { \
		if ((call) < 0) \
			return __LINE__ & 0xff; \
	} while (0)

static int taken_over(void)
{
	char *argv[] = { "/bin/sh", "-c", "true", NULL }, c;
	uint32_t fds;
	struct err e;
	int own = open("/dev/zero", O_RDWR | O_CLOEXEC), pair[2];

	ALLOWED(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	ALLOWED(confine_early(&fds, &e));
	ALLOWED(confine_late(&e));
	/* what it lives on */
	ALLOWED(pread(own, &c, 1, 0));
	ALLOWED(write(pair[0], "x", 1));
	ALLOWED(read(pair[1], &c, 1));
	/* and what it does not */
	REFUSED(execve(argv[0], argv, NULL));
	REFUSED(syscall(SYS_execveat, own, "", argv, NULL, AT_EMPTY_PATH));
	REFUSED(fork());
	REFUSED(open("/etc/passwd", O_RDONLY | O_CLOEXEC));
	REFUSED(syscall(SYS_open, "/etc/passwd", O_RDONLY));
	REFUSED(syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", NULL, 0));
	REFUSED(socket(AF_INET, SOCK_STREAM, 0));
	REFUSED(socket(AF_UNIX, SOCK_STREAM, 0));
	REFUSED(syscall(SYS_unlink, "/tmp/x"));
	REFUSED(syscall(SYS_ptrace, PTRACE_ATTACH, getpid(), NULL, NULL));
	REFUSED(syscall(SYS_process_vm_readv, getpid(), NULL, 0, NULL, 0, 0));
	REFUSED(syscall(SYS_kill, 1, 0));
	REFUSED(syscall(SYS_pidfd_open, 1, 0));
	REFUSED(syscall(SYS_setuid, 0));
	REFUSED(syscall(SYS_mount, NULL, NULL, NULL, 0, NULL));
	REFUSED(syscall(SYS_memfd_create, "x", 0));
	REFUSED(syscall(425, 1, NULL)); /* io_uring_setup */
	REFUSED(syscall(SYS_bpf, 0, NULL, 0));
	REFUSED(syscall(SYS_connect, pair[0], NULL, 0));
	return 0;
}

static void a_front_that_was_taken_over_gets_no_further(void **state)
{
	int status;

	(void)state;
	if (build_is_sanitized)
		skip();
	pid_t pid = fork();

	if (pid == 0)
		_exit(taken_over());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_front_that_was_taken_over_gets_no_further),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
