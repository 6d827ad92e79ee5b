/* SPDX-License-Identifier: Apache-2.0 */
/* aside: pidfds that free themselves. */
#include "warden/aside.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/queue.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/log.h"
#include "engine/slot.h"
#include "loop/loop.h"
#include "warden/link.h"
#include "warden/pairs.h"
#include "warden/warden.h"

struct child {
	LIST_ENTRY(child) link;
	pid_t pid;
	int pidfd;
	struct watch *watch;
	void (*done)(void *arg); /* NULL: no callback */
	void *arg;
};

static LIST_HEAD(, child) children = LIST_HEAD_INITIALIZER(children);

void aside_signals(void)
{
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		(void)signal(i, i == SIGPIPE ? SIG_IGN : SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setsid();
}

static void child_free(struct child *c)
{
	LIST_REMOVE(c, link);
	watch_free(c->watch);
	fd_close(c->pidfd);
	free(c);
}

static void on_end(void *user, int events)
{
	struct child *c = user;
	void (*done)(void *arg) = c->done;
	void *arg = c->arg;

	(void)events;
	if (waitpid(c->pid, NULL, WNOHANG) == 0)
		return;
	child_free(c);
	if (done)
		done(arg);
}

int aside_watch(struct loop *l, pid_t pid, void (*done)(void *arg), void *arg)
{
	struct child *c = calloc(1, sizeof *c);

	if (!c)
		return -ENOMEM;
	*c = (struct child) { .pid = pid, .done = done, .arg = arg };
	c->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	c->watch = c->pidfd < 0 ? NULL : watch_new(l, c->pidfd, WATCH_IN, on_end, c);
	if (c->watch) {
		LIST_INSERT_HEAD(&children, c, link);
		return 0;
	}
	fd_close(c->pidfd);
	free(c);
	return -ENOMEM;
}

/* Recognises orphans by their uid: the warden's own children run as root or as a user of the host. If waitid()
 * reports one of those first, this returns; a later call continues after its owner has reaped it. */
void aside_reap_orphans(void)
{
	for (;;) {
		siginfo_t si = { .si_pid = 0 };

		if (waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) < 0 || si.si_pid == 0 ||
		    si.si_uid < SLOT_UID_FIRST)
			return;
		(void)waitpid(si.si_pid, NULL, WNOHANG);
	}
}

void aside_leave(void)
{
	while (!LIST_EMPTY(&children))
		child_free(LIST_FIRST(&children));
}

void aside_forget(struct loop *l, pid_t pid)
{
	if (waitpid(pid, NULL, WNOHANG) != 0)
		return;
	if (aside_watch(l, pid, NULL, NULL) < 0)
		log_warn("could not watch an exiting child: it remains a zombie", "pid=%d", (int)pid);
}

int aside_run(struct loop *l, void (*fn)(void *arg), void (*done)(void *arg), void *arg)
{
	pid_t self = getpid(), pid = fork();

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		if (getppid() == self) {
			aside_signals();
			fn(arg);
		}
		_exit(0);
	}
	int r = aside_watch(l, pid, done, arg);

	if (r < 0) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
	}
	return r;
}

int unit_fd(int fd)
{
	int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, UNIT_FDS);

	if (high < 0)
		return fd;
	fd_close(fd);
	return high;
}

void warden_let_go(const struct warden *w)
{
	(void)syscall(SYS_close_range, UNIT_FDS, ~0u, 0);
	fd_close(w->registry_fd);
	fd_close(w->pid_fd);
	fd_close(w->notify_fd);
	fd_close(w->console_fd);
	for (size_t i = 0; i < w->n_doors; i++)
		fd_close(w->doors[i].fd);
	fd_close(w->dns_udp);
	fd_close(w->dns_tcp);
	fd_close(w->proxy);
	pairs_let_go(w->pairs);
	if (w->eg.link)
		fd_close(link_fd(w->eg.link));
	if (w->link)
		fd_close(link_fd(w->link));
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}
