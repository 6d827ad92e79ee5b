/* SPDX-License-Identifier: Apache-2.0 */
/* Units of agent/confine: an atoll-agent that was taken over tries to get further, in a child. */
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/confine.h"
#include "base/build.h"
#include "base/cage.h"
#include "base/landlock.h"
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

static void *nothing(void *arg)
{
	return arg;
}

static int taken_over(const char *dir)
{
	char *argv[] = { "/bin/sh", "-c", "true", NULL }, path[300], c;
	bool has_landlock = landlock_abi() > 0;
	pthread_t t;
	struct err e;
	int own = open("/dev/zero", O_RDWR | O_CLOEXEC), pair[2];

	(void)snprintf(path, sizeof path, "%s/a", dir);
	ALLOWED(cage_refuse_rings(&e));
	ALLOWED(agent_confine(dir, &e));
	/* what it lives on */
	ALLOWED(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	ALLOWED(write(pair[0], "x", 1));
	ALLOWED(read(pair[1], &c, 1));
	ALLOWED(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	ALLOWED(unlink(path));
	ALLOWED(-pthread_create(&t, NULL, nothing, NULL));
	ALLOWED(-pthread_join(t, NULL));
	/* and what it does not: no program, no process, no connection, no file of others */
	REFUSED(execve(argv[0], argv, NULL));
	REFUSED(syscall(SYS_execveat, own, "", argv, NULL, AT_EMPTY_PATH));
	REFUSED(fork());
	REFUSED(vfork());
	REFUSED(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
	if (system("true") == 0)
		return __LINE__ & 0xff;
	REFUSED(socket(AF_INET, SOCK_STREAM, 0));
	REFUSED(socket(AF_UNIX, SOCK_STREAM, 0));
	REFUSED(bind(pair[0], NULL, 0));
	REFUSED(syscall(SYS_ptrace, PTRACE_ATTACH, getpid(), NULL, NULL));
	REFUSED(syscall(SYS_process_vm_readv, getpid(), NULL, 0, NULL, 0, 0));
	REFUSED(syscall(SYS_kill, 1, 0));
	REFUSED(syscall(SYS_pidfd_open, 1, 0));
	REFUSED(syscall(SYS_setuid, 0));
	REFUSED(syscall(SYS_mount, NULL, NULL, NULL, 0, NULL));
	REFUSED(syscall(SYS_memfd_create, "x", 0));
	REFUSED(syscall(SYS_bpf, 0, NULL, 0));
	if (has_landlock && (open("/etc/passwd", O_RDONLY | O_CLOEXEC) != -1 || errno != EACCES))
		return __LINE__ & 0xff;
	return 0;
}

static void an_agent_that_was_taken_over_gets_no_further(void **state)
{
	char dir[] = "/tmp/atoll-unit-XXXXXX";
	int status;

	(void)state;
	if (build_is_sanitized)
		skip();
	assert_non_null(mkdtemp(dir));
	pid_t pid = fork();

	if (pid == 0)
		_exit(taken_over(dir));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(rmdir(dir), 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_agent_that_was_taken_over_gets_no_further),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
