/* SPDX-License-Identifier: Apache-2.0 */
/* child: a pidfd that takes care of itself. */
#include "warden/child.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/log.h"
#include "loop/loop.h"

struct forgotten {
	pid_t pid;
	int pidfd;
	struct watch *watch;
};

static void on_end(void *user, int events)
{
	struct forgotten *f = user;

	(void)events;
	if (waitpid(f->pid, NULL, WNOHANG) == 0)
		return;
	watch_free(f->watch);
	fd_close(f->pidfd);
	free(f);
}

void child_forget(struct loop *l, pid_t pid)
{
	if (waitpid(pid, NULL, WNOHANG) != 0)
		return;
	struct forgotten *f = calloc(1, sizeof *f);

	if (f) {
		f->pid = pid;
		f->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
		f->watch = f->pidfd < 0 ? NULL : watch_new(l, f->pidfd, WATCH_IN, on_end, f);
		if (f->watch)
			return;
		fd_close(f->pidfd);
		free(f);
	}
	log_warn("could not watch an ending child, it stays a zombie", "pid=%d", (int)pid);
}
