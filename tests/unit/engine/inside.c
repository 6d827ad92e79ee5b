/* SPDX-License-Identifier: Apache-2.0 */
/* Units of engine/inside (W1): what a process has of another mount is found, however it has it. Each case is a child
 * that has something of a file system which is mounted nowhere, and so in no mount namespace. */
#include "engine/ckpt/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/mounts.h"
#include "unit.h"

static int strange = -1; /* a directory of that file system, with a file */
static int base = -1;

/* --- what a child does to itself ---------------------------------------------------------------------------- */

static bool has_nothing(void)
{
	return true;
}

static bool has_its_own(void)
{
	int pipes[2], pair[2], kept = open("/tmp", O_RDONLY | O_TMPFILE, 0600), watch = inotify_init1(0);

	if (kept < 0)
		kept = open("/", O_RDONLY | O_DIRECTORY);
	return pipe(pipes) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && eventfd(0, 0) >= 0 &&
	    epoll_create1(0) >= 0 && kept >= 0 && memfd_create("x", 0) >= 0 &&
	    mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED &&
	    inotify_add_watch(watch, "/", IN_OPEN) > 0 && open("/proc/self/ns/net", O_RDONLY) >= 0 &&
	    open("/proc/self/fd", O_PATH) >= 0;
}

static bool has_directory(void)
{
	return openat(strange, ".", O_RDONLY | O_DIRECTORY) >= 0;
}

static bool has_path(void)
{
	return openat(strange, "file", O_PATH) >= 0;
}

static bool has_file(void)
{
	return openat(strange, "file", O_RDONLY) >= 0;
}

static bool has_cwd(void)
{
	return fchdir(strange) == 0;
}

static bool has_root(void)
{
	return fchdir(strange) == 0 && chroot(".") == 0;
}

static bool has_mapping(void)
{
	int fd = openat(strange, "file", O_RDONLY);
	bool good = fd >= 0 && mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED;

	(void)close(fd);
	return good;
}

static bool has_watch(void)
{
	int watch = inotify_init1(0), fd = openat(strange, ".", O_PATH);
	char path[64];

	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	bool good = inotify_add_watch(watch, path, IN_OPEN) > 0;

	(void)close(fd);
	return good;
}

static bool has_namespace(void)
{
	int own = open("/proc/self/ns/net", O_RDONLY);
	bool good = own >= 0 && unshare(CLONE_NEWNET) == 0 && open("/proc/self/ns/net", O_RDONLY) >= 0 &&
	    setns(own, CLONE_NEWNET) == 0;

	(void)close(own);
	return good;
}

static bool has_other_mounts(void)
{
	return unshare(CLONE_NEWNS) == 0;
}

static bool has_base(void)
{
	return mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, base, 0) != MAP_FAILED;
}

static bool has_base_open(void)
{
	return dup(base) >= 0;
}

/* --- */

static _Noreturn void child(bool (*fn)(void), int ready)
{
	int log = open("/dev/null", O_RDWR);

	for (int i = 0; i < 3; i++)
		(void)dup2(log, i); /* what the tests' runner gave us is not what is asked for */
	bool good = fn();

	(void)close(strange);
	(void)close(base);
	(void)!write(ready, good ? "y" : "n", 1);
	(void)close(ready);
	for (;;)
		(void)pause();
}

static int result_with(bool (*fn)(void), bool (*second)(void))
{
	int pipes[2];
	char list[64], told = 'n';
	pid_t pids[2];
	struct err e = ERR_INIT;

	for (int i = 0; i < 2; i++) {
		assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0)
			child(i == 0 ? fn : second, pipes[1]);
		(void)close(pipes[1]);
		assert_int_equal(read(pipes[0], &told, 1), 1);
		(void)close(pipes[0]);
		assert_int_equal(told, 'y');
	}
	int n = snprintf(list, sizeof list, "%d\n%d\n", pids[0], pids[1]);
	FILE *f = fmemopen(list, (size_t)n, "r");
	int r = inside_check(f, pids[0], base, &e);

	(void)fclose(f);
	for (int i = 0; i < 2; i++) {
		(void)kill(pids[i], SIGKILL);
		(void)waitpid(pids[i], NULL, 0);
	}
	if (r < 0)
		print_message("%s\n", e.text);
	return r;
}

static void what_is_its_own_is_left_alone(void **state)
{
	(void)state;
	assert_int_equal(result_with(has_nothing, has_nothing), 0);
	assert_int_equal(result_with(has_its_own, has_its_own), 0);
	assert_int_equal(result_with(has_base, has_nothing), 0);
}

static void what_is_not_its_own_is_found(void **state)
{
	static bool (*const ways[])(void) = {
		has_directory,
		has_path,
		has_file,
		has_cwd,
		has_root,
		has_mapping,
		has_watch,
		has_namespace,
		has_base_open,
	};

	(void)state;
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		print_message("way %zu\n", i);
		/* where pid 1 has another root, nothing is seen of its mounts, and all is foreign */
		if (ways[i] != has_root)
			assert_int_equal(result_with(ways[i], has_nothing), -ESTALE);
		assert_int_equal(result_with(has_nothing, ways[i]), -ESTALE);
	}
	assert_int_equal(result_with(has_nothing, has_other_mounts), -ESTALE);
}

static void one_that_is_not_in_its_cgroup_is_no_sandbox(void **state)
{
	char none[] = "\n";
	struct err e = ERR_INIT;
	FILE *f = fmemopen(none, 1, "r");

	(void)state;
	assert_int_equal(inside_check(f, getpid(), -1, &e), -ESRCH);
	(void)fclose(f);
}

static int set_up(void **state)
{
	struct err e = ERR_INIT;
	int file;

	(void)state;
	if (geteuid() != 0 || mount_new("tmpfs", NULL, 0, 0, &strange, &e) < 0)
		return 0;
	file = openat(strange, "file", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	base = openat(strange, "base", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	return file < 0 || base < 0 || ftruncate(file, 4096) < 0 || ftruncate(base, 4096) < 0 || close(file) < 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_its_own_is_left_alone),
		cmocka_unit_test(what_is_not_its_own_is_found),
		cmocka_unit_test(one_that_is_not_in_its_cgroup_is_no_sandbox),
	};

	if (set_up(NULL) != 0)
		return 1;
	return strange < 0 ? 77 : cmocka_run_group_tests(tests, NULL, NULL); /* only root can make a mount */
}
