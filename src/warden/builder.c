/* SPDX-License-Identifier: Apache-2.0 */
/* builder: fork, engine->start(), report. */
#include "warden/builder.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "base/log.h"
#include "loop/loop.h"
#include "warden/aside.h"
#include "warden/link.h"
#include "warden/policy.h"
#include "warden/unit_state.h"
#include "warden/warden.h"
#include "warden/warm.h"

struct builder {
	struct unit *sb;
	builder_done *done;
	struct loop *loop;
	pid_t pid;
	bool reported; /* exits by itself */
	int sock;
	struct watch *watch;
	struct timer *timer;
};

struct report {
	int32_t ok, cold;
	struct engine_record er;
	struct err e;
};

/* --- in the child ------------------------------------------------------------------------------------------ */

/* Applies the policy first, so that it is in force before the sandbox exists. */
static int child_build(const struct unit *sb, struct engine_record *ret, int *ret_pidfd, struct err *e)
{
	const struct warden *w = sb->w;
	struct engine_policy p;

	if (sb->policy) {
		if (policy_for_engine(sb->policy, &p, e) < 0 ||
		    w->ops->network(w->engine, &sb->er, sb->er.spec.no_internet, &p, e) < 0)
			return -e->no;
	}
	return sb->restoring ? w->ops->restore(w->engine, &sb->er.spec, ret, ret_pidfd, e)
			     : w->ops->start(w->engine, &sb->er.spec, &sb->pair, ret, ret_pidfd, e);
}

static __attribute__((noreturn)) void child_main(const struct unit *sb, int sock, pid_t warden)
{
	struct report rp;
	int pidfd = -1;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != warden)
		_exit(1);
	aside_signals();
	warden_let_go(sb->w);
	memset(&rp, 0, sizeof rp);
	int r = child_build(sb, &rp.er, &pidfd, &rp.e);

	rp.ok = r >= 0;
	rp.cold = r == ENGINE_COLD;
	_exit(fd_send(sock, &rp, sizeof rp, &pidfd, rp.ok ? 1 : 0) == sizeof rp ? 0 : 1);
}

/* --- in the warden ----------------------------------------------------------------------------------------- */

static void builder_finish(struct builder *b, int r, const struct engine_record *er, int pidfd, const struct err *e)
{
	struct unit *sb = b->sb;
	builder_done *done = b->done;

	builder_free(b);
	sb->builder = NULL;
	done(sb, r, er, pidfd, e);
}

static void on_report(void *user, int events)
{
	struct builder *b = user;
	struct report rp;
	struct err e = ERR_INIT;
	size_t n_fds;
	int pidfd = -1;

	(void)events;
	ssize_t n = fd_recv(b->sock, &rp, sizeof rp, &pidfd, 1, &n_fds);
	if (n == -EAGAIN)
		return;
	b->reported = n == sizeof rp;
	if (n != sizeof rp || n_fds != (rp.ok ? 1u : 0u)) {
		if (n > 0 && n_fds)
			fd_close(pidfd);
		(void)err_set(&e, EIO, "the builder ended without a word");
		builder_finish(b, -EIO, NULL, -1, &e);
	} else if (!rp.ok) {
		rp.e.text[sizeof rp.e.text - 1] = '\0';
		builder_finish(b, rp.e.no > 0 ? -rp.e.no : -EIO, NULL, -1, &rp.e);
	} else {
		if (rp.cold)
			warm_wanted(b->sb->w->warm, rp.er.spec.template_key);
		builder_finish(b, 0, &rp.er, pidfd, NULL);
	}
}

static int builder_ms(const struct unit *sb)
{
	return sb->restoring ? BUILDER_RESTORE_MS : BUILDER_MS;
}

static void on_stuck(void *user)
{
	struct builder *b = user;
	struct err e = ERR_INIT;

	log_error("builder does not finish, killing it", "id=%s pid=%d", b->sb->er.spec.id, (int)b->pid);
	(void)err_set(&e, ETIMEDOUT, "not built within %d ms", builder_ms(b->sb));
	builder_finish(b, -ETIMEDOUT, NULL, -1, &e);
}

int builder_new(struct unit *sb, builder_done *done, struct builder **ret, struct err *e)
{
	struct loop *l = sb->w->loop;
	struct builder *b = calloc(1, sizeof *b);
	pid_t self = getpid();
	int pair[2];

	if (!b)
		return err_set(e, ENOMEM, "out of memory");
	if (sb->w->ops->mend(sb->w->engine, e) < 0) {
		free(b);
		return -e->no;
	}
	*b = (struct builder) { .sb = sb, .done = done, .loop = l, .sock = -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
		(void)err_sys(e, "make a socket for the builder");
		builder_free(b);
		return -e->no;
	}
	b->sock = pair[0];
	b->watch = watch_new(l, b->sock, WATCH_IN, on_report, b);
	b->timer = timer_new(l, on_stuck, b);
	b->pid = b->watch && b->timer ? fork() : -1;
	if (b->pid == 0) {
		fd_close(b->sock);
		child_main(sb, pair[1], self);
	}
	int no = errno;

	fd_close(pair[1]);
	if (b->pid < 0) {
		errno = no;
		(void)err_sys(e, "fork the builder");
		builder_free(b);
		return -e->no;
	}
	timer_arm(b->timer, (uint64_t)builder_ms(sb));
	*ret = b;
	return 0;
}

void builder_free(struct builder *b)
{
	if (!b)
		return;
	watch_free(b->watch);
	timer_free(b->timer);
	fd_close(b->sock);
	if (b->pid > 0) {
		if (!b->reported)
			(void)kill(b->pid, SIGKILL);
		aside_forget(b->loop, b->pid); /* a stuck builder may stay in the kernel for a long time */
	}
	free(b);
}
