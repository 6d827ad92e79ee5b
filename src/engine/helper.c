/* SPDX-License-Identifier: Apache-2.0 */
/* helper: fork with a socket pair and almost nothing else. */
#include "engine/helper.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

#define KEEP_MAX 16

/* The helper exits when its socket closes, after the requested work, and not by a signal to the terminal's process
 * group. */
static void settle(const char *name)
{
	sigset_t none;

	(void)prctl(PR_SET_NAME, name, 0, 0, 0);
	(void)setsid();
	for (int s = 1; s < NSIG; s++)
		(void)signal(s, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

int helper_start(const char *name, const int *keep, size_t n, void (*fn)(void *arg, int sock), void *arg,
    struct helper *ret, struct err *e)
{
	int sock[2], all[KEEP_MAX + 1];

	assert(n <= KEEP_MAX);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0)
		return err_sys(e, "make a socket pair");
	pid_t pid = fork();

	if (pid == 0) {
		all[0] = sock[1];
		for (size_t i = 0; i < n; i++)
			all[i + 1] = keep[i];
		fd_close_others(all, n + 1);
		settle(name);
		fn(arg, sock[1]);
		_exit(0);
	}
	close(sock[1]);
	if (pid < 0) {
		close(sock[0]);
		return err_sys(e, "fork %s", name);
	}
	*ret = (struct helper) { .sock = sock[0], .pid = pid };
	return 0;
}

static void forget(struct helper *h)
{
	fd_close(h->sock);
	*h = (struct helper)HELPER_NONE;
}

bool helper_alive(struct helper *h)
{
	int status;

	if (h->pid > 0 && waitpid(h->pid, &status, WNOHANG) == h->pid)
		forget(h);
	return h->pid > 0;
}

void helper_stop(struct helper *h)
{
	pid_t pid = h->pid;
	int status;

	forget(h);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
}

void helper_kill(struct helper *h)
{
	if (h->pid > 0)
		(void)kill(h->pid, SIGKILL);
	helper_stop(h);
}
