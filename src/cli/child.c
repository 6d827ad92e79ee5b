/* SPDX-License-Identifier: Apache-2.0 */
/* cli/child: runs other programs and waits for them; runs probes in a forked child. */
#include "cli/child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"

extern char **environ;

static int wait_for(pid_t pid, int *ret_status)
{
	int st;

	while (waitpid(pid, &st, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	*ret_status = WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
	return 0;
}

static int spawn(const char *const *argv, const posix_spawn_file_actions_t *fa, pid_t *ret, struct err *e)
{
	posix_spawnattr_t attr;
	sigset_t set;

	(void)posix_spawnattr_init(&attr);
	/* The child must not inherit that we ignore these signals while it runs. */
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGQUIT);
	(void)posix_spawnattr_setsigdefault(&attr, &set);
	(void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	int no = posix_spawnp(ret, argv[0], fa, &attr, (char *const *)argv, environ);
	(void)posix_spawnattr_destroy(&attr);
	return no == 0 ? 0 : err_set(e, no, "run '%s': %s", argv[0], strerrordesc_np(no));
}

static volatile sig_atomic_t running; /* pid of the child that signals are forwarded to */

static void pass_on(int sig)
{
	if (running > 0)
		(void)kill((pid_t)running, sig);
}

/* Ctrl-C on a terminal reaches the child, too, so it is ignored here. A signal sent only to this process is
 * forwarded. */
static const struct {
	int sig;
	void (*handler)(int);
} held[] = {
	{ SIGINT, SIG_IGN },
	{ SIGQUIT, SIG_IGN },
	{ SIGTERM, pass_on },
	{ SIGHUP, pass_on },
};

int cli_child_run(const char *const *argv, bool quiet, int *ret_status, struct err *e)
{
	struct sigaction was[ARRAY_LEN(held)];
	posix_spawn_file_actions_t fa;
	pid_t pid;

	(void)posix_spawn_file_actions_init(&fa);
	if (quiet)
		(void)posix_spawn_file_actions_addopen(&fa, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	for (size_t i = 0; i < ARRAY_LEN(held); i++)
		(void)sigaction(held[i].sig, &(struct sigaction) { .sa_handler = held[i].handler }, &was[i]);
	int rc = spawn(argv, &fa, &pid, e);
	if (rc == 0) {
		running = pid;
		if ((rc = wait_for(pid, ret_status)) < 0)
			rc = err_set(e, -rc, "wait for '%s'", argv[0]);
		running = 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(held); i++)
		(void)sigaction(held[i].sig, &was[i], NULL);
	(void)posix_spawn_file_actions_destroy(&fa);
	return rc;
}

static void read_some(int fd, char *out, size_t size)
{
	char rest[4096];
	size_t n = 0;
	ssize_t r;

	while ((r = n + 1 < size ? read(fd, out + n, size - 1 - n) : read(fd, rest, sizeof(rest))) != 0) {
		if (r < 0 && errno != EINTR)
			break;
		if (r > 0 && n + 1 < size)
			n += (size_t)r;
	}
	out[n] = '\0';
}

int child_output(const char *const *argv, char *out, size_t size, int *ret_status, struct err *e)
{
	posix_spawn_file_actions_t fa;
	int pipe_fds[2];
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return err_sys(e, "create a pipe");
	(void)posix_spawn_file_actions_init(&fa);
	(void)posix_spawn_file_actions_addopen(&fa, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	(void)posix_spawn_file_actions_adddup2(&fa, pipe_fds[1], STDOUT_FILENO);
	(void)posix_spawn_file_actions_addopen(&fa, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	int rc = spawn(argv, &fa, &pid, e);
	(void)posix_spawn_file_actions_destroy(&fa);
	fd_close(pipe_fds[1]);
	if (rc == 0) {
		read_some(pipe_fds[0], out, size);
		if (wait_for(pid, ret_status) < 0)
			rc = err_set(e, ECHILD, "wait for '%s'", argv[0]);
	}
	fd_close(pipe_fds[0]);
	return rc;
}

int child_probe(int (*fn)(void *arg), void *arg)
{
	int status = 0;
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		(void)alarm(10); /* a probe that hangs counts as failed */
		_exit(-fn(arg) & 0xff);
	}
	if (wait_for(pid, &status) < 0 || status > 128)
		return status == 128 + SIGALRM ? -ETIMEDOUT : -EIO;
	return -status;
}

bool child_has_program(const char *name)
{
	const char *path = getenv("PATH");
	autofree char *dirs = str_fmt("%s:/usr/local/sbin:/usr/sbin:/sbin", path ? path : "/usr/bin:/bin");
	struct str rest = str_of(dirs);

	while (rest.p) {
		struct str dir = str_cut(&rest, ':');
		autofree char *file = str_fmt("%.*s/%s", STR_ARG(dir), name);

		if (dir.n > 0 && file && access(file, X_OK) == 0)
			return true;
	}
	return false;
}
