/* SPDX-License-Identifier: Apache-2.0 */
/* bell: who has rung, and the child that makes a seed. */
#include "warden/unit/bell.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "loop/loop.h"
#include "warden/aside.h"
#include "warden/unit_state.h"
#include "warden/warden.h"

#define AT_ONCE 4     /* seeds that a sandbox may have, */
#define EACH_MS 5000  /* and then one in that time */
#define PAUSE_MS 200  /* between two seeds, divided by the number of builders */
#define STUCK_MS 6000 /* init waits less */

struct bell_job { /* the child */
	struct unit *sb;
	struct loop *loop;
	pid_t pid;
	int sock;
	struct watch *watch;
	struct timer *timer;
};

static void bells_run(struct warden *w);

/* --- in the child ------------------------------------------------------------------------------------------- */

static int report(void *arg, int seed)
{
	const int *sock = arg;
	ssize_t n = fd_send(*sock, "s", 1, &seed, 1);

	fd_close(seed);
	return n < 0 ? (int)n : 0;
}

static _Noreturn void child_main(const struct unit *sb, int sock, pid_t warden)
{
	struct err e = ERR_INIT;
	/* With numbers below those that are closed now. */
	int bell = dup(sb->bell.fd), pidfd = dup(sb->pidfd);

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != warden)
		_exit(1);
	aside_signals();
	warden_let_go(sb->w);
	int r = sb->w->ops->seed(sb->w->engine, &sb->er, pidfd, bell, report, &sock, &e);

	if (r < 0 && r != -EAGAIN)
		log_info("no seed: an interpreter starts without", "id=%s err=%s", sb->er.spec.id, e.text);
	_exit(0);
}

/* --- in the warden ------------------------------------------------------------------------------------------ */

static void seed_kill(struct unit *sb)
{
	if (sb->bell.seed >= 0)
		(void)syscall(SYS_pidfd_send_signal, sb->bell.seed, SIGKILL, NULL, 0);
	fd_close(take_fd(&sb->bell.seed));
}

static void watch_bell(struct unit *sb)
{
	if (sb->bell.watch)
		watch_set(sb->bell.watch, WATCH_IN);
}

/* The child reports the seed before it lets it do anything: if it is killed here, there is no seed that is not known
 * or will not exit by itself. */
static void take_report(struct bell_job *j)
{
	size_t n_fds = 0;
	int seed = -1;
	char c;

	if (fd_recv(j->sock, &c, 1, &seed, 1, &n_fds) > 0 && n_fds == 1) {
		seed_kill(j->sb);
		j->sb->bell.seed = unit_fd(seed);
	}
}

static void job_end(struct bell_job *j)
{
	struct warden *w = j->sb->w;

	w->bells.job = NULL;
	if (j->pid > 0) {
		(void)kill(j->pid, SIGKILL);
		take_report(j);
		aside_forget(j->loop, j->pid);
	}
	watch_bell(j->sb);
	watch_free(j->watch);
	timer_free(j->timer);
	fd_close(j->sock);
	free(j);
}

static void on_report(void *user, int events)
{
	struct bell_job *j = user;
	struct warden *w = j->sb->w;
	char c;

	(void)events;
	ssize_t n = recv(j->sock, &c, 1, MSG_PEEK | MSG_DONTWAIT);

	if (n > 0)
		take_report(j);
	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	job_end(j); /* it has closed its end */
	bells_run(w);
}

static void on_stuck(void *user)
{
	struct bell_job *j = user;
	struct warden *w = j->sb->w;

	log_warn("a seed is not made in time, giving up", "id=%s pid=%d", j->sb->er.spec.id, (int)j->pid);
	job_end(j);
	bells_run(w);
}

static void job_begin(struct unit *sb)
{
	struct warden *w = sb->w;
	struct bell_job *j = calloc(1, sizeof *j);
	pid_t self = getpid();
	int pair[2];

	if (!j || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
		free(j);
		watch_bell(sb);
		return;
	}
	*j = (struct bell_job) { .sb = sb, .loop = w->loop, .sock = pair[0] };
	j->watch = watch_new(w->loop, j->sock, WATCH_IN, on_report, j);
	j->timer = timer_new(w->loop, on_stuck, j);
	j->pid = j->watch && j->timer ? fork() : -1;
	if (j->pid == 0) {
		fd_close(j->sock);
		child_main(sb, pair[1], self);
	}
	fd_close(pair[1]);
	if (j->pid < 0) {
		job_end(j);
		return;
	}
	timer_arm(j->timer, STUCK_MS);
	w->bells.job = j;
}

static void refill(struct unit *sb, uint64_t now)
{
	uint64_t n = (now - sb->bell.past_ms) / EACH_MS;

	sb->bell.due = n >= AT_ONCE - sb->bell.due ? AT_ONCE : sb->bell.due + (unsigned)n;
	sb->bell.past_ms += n * EACH_MS;
}

/* The one with the most due, and of those the one that has waited longest. */
static struct unit *next_one(struct warden *w, uint64_t now)
{
	struct unit *sb, *best = NULL;

	TAILQ_FOREACH(sb, &w->bells.waiting, bell.link)
	{
		refill(sb, now);
		if (sb->bell.due > (best ? best->bell.due : 0))
			best = sb;
	}
	return best;
}

static void leave_queue(struct unit *sb)
{
	if (sb->bell.waits)
		TAILQ_REMOVE(&sb->w->bells.waiting, sb, bell.link);
	sb->bell.waits = false;
}

static void bells_run(struct warden *w)
{
	uint64_t now = loop_now_ms(w->loop);

	if (w->bells.job || TAILQ_EMPTY(&w->bells.waiting) || w->stopping)
		return;
	struct unit *sb = now < w->bells.not_before_ms ? NULL : next_one(w, now);

	if (!sb) {
		timer_arm(w->bells.timer, now < w->bells.not_before_ms ? w->bells.not_before_ms - now : EACH_MS / 4);
		return;
	}
	leave_queue(sb);
	seed_kill(sb); /* init does not ring if it has one */
	sb->bell.due--;
	w->bells.not_before_ms = now + PAUSE_MS / w->max_builders;
	job_begin(sb);
	if (!w->bells.job && !TAILQ_EMPTY(&w->bells.waiting))
		timer_arm(w->bells.timer, EACH_MS / 4);
}

static void on_timer(void *user)
{
	bells_run(user);
}

static void on_bell(void *user, int events)
{
	struct unit *sb = user;

	(void)events;
	watch_set(sb->bell.watch, 0);
	TAILQ_INSERT_TAIL(&sb->w->bells.waiting, sb, bell.link);
	sb->bell.waits = true;
	bells_run(sb->w);
}

void bell_open(struct unit *sb)
{
	struct warden *w = sb->w;
	struct err e = ERR_INIT;
	int fd = -1;

	if (!w->ops->bell || sb->er.spec.kind != ENGINE_NAMESPACES || sb->bell.fd >= 0 || sb->state != UNIT_RUNNING ||
	    sb->frozen || sb->freezing.seq || w->bells.n_open >= w->bells.max_open)
		return;
	if (w->ops->bell(w->engine, &sb->er, sb->pidfd, &fd, &e) < 0) {
		log_debug("no bell", "id=%s err=%s", sb->er.spec.id, e.text);
		w->bells.missing = true;
		return;
	}
	w->bells.n_open++;
	sb->bell.fd = unit_fd(fd);
	sb->bell.watch = watch_new(w->loop, sb->bell.fd, WATCH_IN, on_bell, sb);
	if (!sb->bell.watch) {
		bell_close(sb);
		return;
	}
	if (!sb->bell.past_ms) {
		sb->bell.past_ms = loop_now_ms(w->loop);
		sb->bell.due = AT_ONCE;
	}
}

void bell_close(struct unit *sb)
{
	leave_queue(sb);
	watch_free(take_ptr(&sb->bell.watch));
	sb->w->bells.n_open -= sb->bell.fd >= 0;
	fd_close(take_fd(&sb->bell.fd));
	if (sb->w->bells.job && sb->w->bells.job->sb == sb) {
		job_end(sb->w->bells.job);
		timer_arm(sb->w->bells.timer, 0);
	}
	seed_kill(sb);
}

int bells_begin(struct warden *w)
{
	TAILQ_INIT(&w->bells.waiting);
	w->bells.timer = timer_new(w->loop, on_timer, w);
	return w->bells.timer ? 0 : -ENOMEM;
}

void bells_tick(struct warden *w)
{
	struct unit *sb;

	if (!w->bells.missing)
		return;
	w->bells.missing = false;
	LIST_FOREACH(sb, &w->units, all)
	{
		bell_open(sb);
	}
}

void bells_end(struct warden *w)
{
	timer_free(take_ptr(&w->bells.timer));
}
