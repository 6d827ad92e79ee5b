/* SPDX-License-Identifier: Apache-2.0 */
/* Units of base/cage and base/landlock: what a process can no longer do that has shut itself in, tried in a child. */
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/build.h"
#include "base/cage.h"
#include "base/fd.h"
#include "loop/loop.h"
#include "unit.h"

/* The number of the line that went wrong is the exit status. */
#define REFUSED(no, call) \
	do { \
		errno = 0; \
		if ((call) != -1 || errno != (no)) \
			return __LINE__ & 0xff; \
	} while (0)
#define ALLOWED(call) \
	do { \
		if ((call) < 0) \
			return __LINE__ & 0xff; \
	} while (0)

static int in_child(int (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(fn());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static const int few[] = { SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(close), SCMP_SYS(getpid), SCMP_SYS(exit_group),
	SCMP_SYS(munmap), SCMP_SYS(brk) };

static int with_a_list_only(void)
{
	char *argv[] = { "/bin/true", NULL };
	struct err e;
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC), on = 1;
	char c;

	ALLOWED(cage_close(&(struct cage) { .calls = few, .n_calls = ARRAY_LEN(few) }, &e));
	ALLOWED(read(zero, &c, 1)); /* what is open stays so */
	REFUSED(EPERM, open("/dev/zero", O_RDONLY | O_CLOEXEC));
	REFUSED(EPERM, execve(argv[0], argv, NULL));
	REFUSED(EPERM, fork());
	REFUSED(EPERM, socket(AF_INET, SOCK_STREAM, 0));
	REFUSED(EPERM, kill(getppid(), 0));
	REFUSED(EPERM, ioctl(zero, FIOASYNC, &on));
	REFUSED(ENOTTY, ioctl(zero, FIONREAD, &on));
	REFUSED(EPERM, (long)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REFUSED(EPERM, mprotect(p, 4096, PROT_READ | PROT_EXEC));
	return 0;
}

static int with_all_calls_of_files(void)
{
	static const int calls[] = { SCMP_SYS(openat), SCMP_SYS(unlinkat), SCMP_SYS(unlink), SCMP_SYS(close),
		SCMP_SYS(exit_group), SCMP_SYS(socket), SCMP_SYS(connect), SCMP_SYS(bind), SCMP_SYS(getppid),
		SCMP_SYS(kill), SCMP_SYS(execve) };
	static const struct landlock_path paths[] = { { "/dev", LANDLOCK_READ_FILES },
		{ "/nowhere", LANDLOCK_READ_FILES } };
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	char *argv[] = { "/bin/true", NULL };
	struct err e;
	int abi = landlock_abi();

	ALLOWED(cage_close(
	    &(struct cage) { .calls = calls, .n_calls = ARRAY_LEN(calls), .paths = paths, .n_paths = ARRAY_LEN(paths) },
	    &e));
	ALLOWED(open("/dev/zero", O_RDONLY | O_CLOEXEC));
	REFUSED(EACCES, open("/dev/null", O_WRONLY | O_CLOEXEC));
	REFUSED(EACCES, open("/etc/passwd", O_RDONLY | O_CLOEXEC));
	REFUSED(EACCES, open("/dev/../etc/passwd", O_RDONLY | O_CLOEXEC));
	REFUSED(EACCES, open("/proc/self/root/etc/passwd", O_RDONLY | O_CLOEXEC));
	REFUSED(EACCES, open("/tmp/atoll-cage", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	REFUSED(EACCES, execve(argv[0], argv, NULL));
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (abi >= 4) {
		REFUSED(EACCES, bind(fd, (struct sockaddr *)&at, sizeof at));
		REFUSED(EACCES, connect(fd, (struct sockaddr *)&at, sizeof at));
	}
	if (abi >= 6)
		REFUSED(EPERM, kill(getppid(), 0));
	return 0;
}

static int status(void)
{
	static const int calls[] = { SCMP_SYS(read), SCMP_SYS(lseek), SCMP_SYS(exit_group), SCMP_SYS(prctl) };
	struct err e;
	char text[8192];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);

	ALLOWED(cage_close(&(struct cage) { .calls = calls, .n_calls = ARRAY_LEN(calls) }, &e));
	ssize_t n = read(fd, text, sizeof text - 1);

	ALLOWED(n);
	text[n] = '\0';
	if (!strstr(text, "\nSeccomp:\t2\n") || !strstr(text, "\nNoNewPrivs:\t1\n") ||
	    prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
		return __LINE__ & 0xff;
	return 0;
}

static void stop(void *l)
{
	loop_stop(l);
}

static int with_a_loop(void)
{
	struct err e;

	ALLOWED(cage_refuse_rings(&e));
	struct loop *l = loop_new();

	if (!l)
		return __LINE__ & 0xff;
	loop_defer(l, stop, l);
	loop_run(l);
	for (int fd = 0; fd < 64; fd++) {
		char path[32], to[64];

		(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		ssize_t n = readlink(path, to, sizeof to - 1);

		to[n < 0 ? 0 : n] = '\0';
		if (strstr(to, "io_uring"))
			return __LINE__ & 0xff;
	}
	loop_free(l);
	return 0;
}

static void a_loop_does_without_a_ring(void **state)
{
	(void)state;
	assert_int_equal(in_child(with_a_loop), 0);
}

static void only_listed_calls_are_left(void **state)
{
	(void)state;
	if (build_is_sanitized)
		skip();
	assert_int_equal(in_child(with_a_list_only), 0);
}

static void only_listed_places_are_left(void **state)
{
	(void)state;
	if (build_is_sanitized || landlock_abi() == 0)
		skip();
	assert_int_equal(in_child(with_all_calls_of_files), 0);
}

static void the_kernel_confirms_it(void **state)
{
	(void)state;
	if (build_is_sanitized)
		skip();
	assert_int_equal(in_child(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_listed_calls_are_left),
		cmocka_unit_test(only_listed_places_are_left),
		cmocka_unit_test(the_kernel_confirms_it),
		cmocka_unit_test(a_loop_does_without_a_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
