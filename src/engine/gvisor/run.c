/* SPDX-License-Identifier: Apache-2.0 */
/* run: executes runsc.
 *
 * The sentry and the gofer inherit the launcher's log, and go on writing to it for as long as they run. So it is a pipe
 * that is read while the launcher runs, and closed then. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/inherited.h"
#include "engine/core.h"
#include "engine/gvisor/gvisor.h"
#include "engine/limits.h"
#include "engine/ns.h"
#include "engine/userns.h"

#define EXE_FD 3
#define LOG_FD 4
#define PASS_FD 5
#define TAIL_SIZE 4096
#define WHY_MAX 150

static const char *const options[] = {
	"--platform=systrap",
	"--network=sandbox",
	"--overlay2=none",         /* the host's overlay is the disk, with its quota */
	"--file-access=exclusive", /* of the root: nobody else changes it while it runs */
	"--directfs=true",
	"--allow-suid",     /* sudo inside */
	"--ignore-cgroups", /* it is in its cgroups already */
	"--host-settings=ignore",
	"--sidecar-usage-policy=LEGACY_DEPRECATED_SLOW_EMBEDDED_FALLBACK",
	"--log-format=text",
	"--log=/proc/self/fd/4",
};

/* In the child: descriptors under their numbers, then the program. */
static _Noreturn void child(struct engine *en, const struct cgroup_seat *seat, int pass, int log,
    const char *const *argv)
{
	static char *const env[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL };
	struct err e = ERR_INIT;
	sigset_t none;
	/* Out of the way first: each may have the number of another. */
	int exe = fcntl(en->gvisor->exe, F_DUPFD, 16), null = open("/dev/null", O_RDWR);

	log = fcntl(log, F_DUPFD, 16);
	pass = pass < 0 ? -1 : fcntl(pass, F_DUPFD, 16);
	if (seat && cgroup_sit(seat, 0, &e) < 0)
		_exit(1);
	if (exe < 0 || null < 0 || log < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
	    dup3(exe, EXE_FD, O_CLOEXEC) < 0 || dup2(log, LOG_FD) < 0 || (pass >= 0 && dup2(pass, PASS_FD) < 0))
		_exit(1);
	(void)syscall(SYS_close_range, pass >= 0 ? PASS_FD + 1 : PASS_FD, ~0u, 0);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	for (int s = 1; s < NSIG; s++)
		(void)signal(s, SIG_DFL);
	(void)setsid();
	if (en->cfg.core_scheduling)
		core_own();
	/* No core handler of the host shall read the memory of a sentry: see limits.c. */
	if (rlimit_lower(RLIMIT_CORE, 1) == 0 && limits_ordinary(&e) == 0)
		(void)syscall(SYS_execveat, EXE_FD, "", argv, env, AT_EMPTY_PATH);
	_exit(1);
}

struct tail { /* the end of the log */
	char text[TAIL_SIZE];
	size_t n;
};

static void tail_add(struct tail *t, const char *p, size_t n)
{
	if (n > sizeof t->text / 2)
		p += n - sizeof t->text / 2, n = sizeof t->text / 2;
	if (t->n + n > sizeof t->text) {
		size_t drop = t->n + n - sizeof t->text;

		memmove(t->text, t->text + drop, t->n - drop);
		t->n -= drop;
	}
	memcpy(t->text + t->n, p, n);
	t->n += n;
}

/* Reads the log until the process has exited; false: it has not in time. */
static bool follow(int log, int pidfd, int timeout_ms, struct tail *t)
{
	uint64_t end = clock_mono_ms() + (uint64_t)timeout_ms;
	struct pollfd p[] = { { .fd = log, .events = POLLIN }, { .fd = pidfd, .events = POLLIN } };
	char buf[2048];

	for (;;) {
		uint64_t now = clock_mono_ms();

		if (now >= end)
			return false;
		if (poll(p, ARRAY_LEN(p), (int)(end - now)) < 0 && errno != EINTR)
			return false;
		ssize_t n = p[0].revents ? read(log, buf, sizeof buf) : 0;

		if (n > 0)
			tail_add(t, buf, (size_t)n);
		else if (p[1].revents)
			return true;
		else if (p[0].revents)
			p[0].fd = -1;
	}
}

/* The last line, in printable characters: what runsc says when it fails. */
static void last_line(const struct tail *t, char ret[WHY_MAX])
{
	size_t end = t->n, n = 0;

	while (end > 0 && t->text[end - 1] == '\n')
		end--;
	size_t begin = end;

	while (begin > 0 && t->text[begin - 1] != '\n')
		begin--;
	if (end - begin > WHY_MAX - 1)
		begin = end - (WHY_MAX - 1);
	while (begin < end) {
		char c = t->text[begin++];

		ret[n++] = c >= ' ' && c <= '~' ? c : '?';
	}
	ret[n] = '\0';
}

static void compose(const struct bundle *b, const char *const *args, char root[sizeof b->dir + 16],
    const char *argv[ARRAY_LEN(options) + RUNSC_ARGS_MAX + 4])
{
	size_t n = 0;

	(void)snprintf(root, sizeof b->dir + 16, "--root=%s/state", b->dir);
	argv[n++] = "runsc";
	argv[n++] = root;
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		argv[n++] = options[i];
	for (size_t i = 0; i < RUNSC_ARGS_MAX && args[i]; i++)
		argv[n++] = args[i];
	argv[n] = NULL;
}

int runsc_run(struct engine *en, const struct bundle *b, const struct cgroup_seat *seat, int pass,
    const char *const *args, int timeout_ms, struct err *e)
{
	const char *argv[ARRAY_LEN(options) + RUNSC_ARGS_MAX + 4];
	char root[sizeof b->dir + 16], why[WHY_MAX];
	struct tail t = { .n = 0 };
	int fds[2], status = 0;
	autoclose int pidfd = -1;

	compose(b, args, root, argv);
	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	(void)fd_nonblock(fds[0], true);
	pid_t pid = userns_fork(0, seat ? seat->into_fd : -1, &pidfd);

	if (pid == 0)
		child(en, seat, pass, fds[1], argv);
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return err_set(e, (int)-pid, "fork: %s", strerror((int)-pid));
	}
	bool over = follow(fds[0], pidfd, timeout_ms, &t);

	if (!over)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	close(fds[0]);
	if (!over)
		return err_set(e, ETIMEDOUT, "runsc %s: not finished after %d ms", args[0], timeout_ms);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	last_line(&t, why);
	return err_set(e, EIO, "runsc %s: %s", args[0], why[0] ? why : "failed without a word");
}
