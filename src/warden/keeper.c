/* SPDX-License-Identifier: Apache-2.0 */
/* keeper: fork, engine->snapshot() or engine->checkpoint(), report. */
#include "warden/keeper.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "loop/loop.h"
#include "warden/aside.h"
#include "warden/front_send.h"
#include "warden/unit/freeze.h"
#include "warden/unit_state.h"
#include "warden/warden.h"

struct keeper {
	LIST_ENTRY(keeper) link;
	struct unit *sb;
	enum msg_type op;
	uint32_t flags;           /* KEEP_* */
	uint32_t seq, thaw_seq;   /* 0: no request pending */
	uint64_t life, thaw_life; /* the front that asked, and the one that asked for the thaw */
	uint64_t began_ms;
	char name[ID_SIZE], request[REQUEST_ID_SIZE];
	bool released;
	pid_t pid;
	int sock;
	struct watch *watch;
};

enum { KEEPER_FAILED, KEEPER_DONE, KEEPER_RELEASED };

struct report {
	int32_t how;
	struct engine_image image;
	struct err e;
};

/* --- in the child ------------------------------------------------------------------------------------------- */

static void say_released(void *arg)
{
	struct report rp;

	memset(&rp, 0, sizeof rp);
	rp.how = KEEPER_RELEASED;
	(void)fd_send(*(int *)arg, &rp, sizeof rp, NULL, 0);
}

static __attribute__((noreturn)) void child_main(const struct keeper *k, int sock, pid_t warden)
{
	const struct unit *sb = k->sb;
	struct warden *w = sb->w;
	struct report rp;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != warden)
		_exit(1);
	aside_signals();
	warden_let_go(w);
	memset(&rp, 0, sizeof rp);
	int r = k->op == OP_SNAPSHOT ? w->ops->snapshot(w->engine, &sb->er, k->name, &rp.e)
				     : w->ops->checkpoint(w->engine, &sb->er, k->name, k->flags & KEEP_BRIEF,
					   say_released, &sock, &rp.image, &rp.e);

	rp.how = r < 0 ? KEEPER_FAILED : KEEPER_DONE;
	if (fd_send(sock, &rp, sizeof rp, NULL, 0) == sizeof rp)
		_exit(0);
	/* The sandbox was killed meanwhile, and the request to delete the snapshot came before the snapshot
	 * existed. */
	if (k->op == OP_SNAPSHOT && r == 0)
		(void)w->ops->forget(w->engine, k->name, &rp.e);
	_exit(1);
}

/* --- in the warden ------------------------------------------------------------------------------------------ */

static void answer(struct keeper *k, const struct report *rp)
{
	struct warden *w = k->sb->w;
	uint32_t seq = k->seq;

	k->seq = 0;
	if (rp->how == KEEPER_FAILED)
		front_error(w, k->life, seq, rp->e.no > 0 ? rp->e.no : EIO, rp->e.text);
	else if (k->op == OP_SNAPSHOT)
		front_ok(w, k->life, seq);
	else
		front_image(w, k->life, seq, rp->image.bytes, rp->image.dump_us);
}

/* The keeper does not need the sandbox any more. Carries out a deferred thaw, or that of KEEP_THAW, whose
 * requester still waits for the saved memory. */
static void release(struct keeper *k)
{
	uint32_t seq = k->thaw_seq;

	if (k->released)
		return;
	k->released = true;
	k->thaw_seq = 0;
	if (k->flags & KEEP_THAW && k->sb->state == UNIT_RUNNING && k->sb->frozen) {
		unit_thaw_quietly(k->sb);
		front_released(k->sb->w, k->life, k->seq);
	}
	if (seq && k->sb->state != UNIT_RUNNING)
		front_error(k->sb->w, k->thaw_life, seq, ENOENT, "the sandbox has ended");
	else if (seq && k->thaw_life == k->sb->w->life) /* otherwise the front that asked is gone */
		unit_thaw(k->sb, seq);
}

static void finish(struct keeper *k, const struct report *rp)
{
	struct unit *sb = k->sb;

	if (rp->how == KEEPER_FAILED)
		log_warn("could not save a sandbox", "id=%s name=%s request=%s err=%s", sb->er.spec.id, k->name,
		    k->request, rp->e.text);
	else
		log_info(k->op == OP_SNAPSHOT ? "disk saved" : "memory kept",
		    "id=%s name=%s request=%s ms=%llu mib=%llu", sb->er.spec.id, k->name, k->request,
		    (unsigned long long)(clock_mono_ms() - k->began_ms), (unsigned long long)(rp->image.bytes >> 20));
	sb->keeper = NULL;
	release(k);
	answer(k, rp);
	keeper_free(k);
}

static void on_report(void *user, int events)
{
	struct keeper *k = user;
	struct report rp;
	size_t n_fds;
	ssize_t n = fd_recv(k->sock, &rp, sizeof rp, NULL, 0, &n_fds);

	(void)events;
	if (n == -EAGAIN)
		return;
	if (n != sizeof rp) {
		memset(&rp, 0, sizeof rp);
		(void)err_set(&rp.e, EIO, "the keeper ended without a word");
	}
	rp.e.text[sizeof rp.e.text - 1] = '\0';
	if (rp.how == KEEPER_RELEASED)
		release(k);
	else
		finish(k, &rp);
}

static int keeper_fork(struct keeper *k, struct err *e)
{
	pid_t self = getpid();
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return err_sys(e, "make a socket for the keeper");
	k->sock = pair[0];
	k->watch = watch_new(k->sb->w->loop, k->sock, WATCH_IN, on_report, k);
	k->pid = k->watch ? fork() : -1;
	if (k->pid == 0) {
		fd_close(k->sock);
		child_main(k, pair[1], self);
	}
	int no = errno;

	fd_close(pair[1]);
	errno = no;
	return k->pid < 0 ? err_sys(e, "fork the keeper") : 0;
}

/* The front that asked for it is gone. */
static bool is_orphan(const struct keeper *k)
{
	return k && k->life != k->sb->w->life;
}

/* The next front asks for what the last one did, with the same name, because its database says that it is not done: it
 * gets the answer. */
static bool is_same(const struct keeper *k, const struct msg_keep *m)
{
	return (unsigned)k->op == m->head.type && k->flags == m->flags && strcmp(k->name, m->name) == 0;
}

static void take_over(struct keeper *k, const struct msg_keep *m)
{
	log_info("still saving a sandbox for a new front", "id=%s name=%s request=%s", k->sb->er.spec.id, k->name,
	    m->request);
	k->life = k->sb->w->life;
	k->seq = m->head.seq;
	memcpy(k->request, m->request, sizeof k->request);
}

/* It does not need the sandbox any more, and the next front cannot know of it: for that front the sandbox just runs.
 * The same name stays refused, because the engine still writes it. */
static bool is_left_over(const struct keeper *k, const char *name)
{
	return k->released && strcmp(k->name, name) != 0;
}

void keeper_begin(struct unit *sb, const struct msg_keep *m)
{
	struct warden *w = sb->w;

	if (sb->frozen && is_orphan(sb->keeper) && is_same(sb->keeper, m)) {
		take_over(sb->keeper, m);
		return;
	}
	if (sb->frozen && is_orphan(sb->keeper) && is_left_over(sb->keeper, m->name))
		keeper_free(take_ptr(&sb->keeper));
	struct keeper *k = sb->keeper ? NULL : calloc(1, sizeof *k);
	struct err e = ERR_INIT;

	if (!k || !sb->frozen) {
		const char *why = !sb->frozen ? "it is not frozen"
		    : sb->keeper              ? "it is being kept already"
					      : "out of memory";

		free(k);
		front_error(w, w->life, m->head.seq, sb->keeper || !sb->frozen ? EBUSY : ENOMEM, why);
		return;
	}
	*k = (struct keeper) {
		.sb = sb,
		.op = (enum msg_type)m->head.type,
		.flags = m->flags,
		.seq = m->head.seq,
		.life = w->life,
		.began_ms = clock_mono_ms(),
		.sock = -1,
	};
	memcpy(k->name, m->name, sizeof k->name);
	memcpy(k->request, m->request, sizeof k->request);
	LIST_INSERT_HEAD(&w->keepers, k, link);
	if (keeper_fork(k, &e) < 0) {
		front_error(w, w->life, k->seq, e.no, e.text);
		k->seq = 0;
		keeper_free(k);
		return;
	}
	sb->keeper = k;
}

bool keeper_puts_off(struct unit *sb, uint32_t seq)
{
	struct keeper *k = sb->keeper;

	if (!k || k->released)
		return false;
	if (k->thaw_seq && k->thaw_life == sb->w->life) { /* only one can wait */
		front_error(sb->w, sb->w->life, seq, EBUSY, "it is being thawed already");
	} else {
		k->thaw_seq = seq;
		k->thaw_life = sb->w->life;
	}
	return true;
}

bool keeper_writes(const struct warden *w, const char *name)
{
	const struct keeper *k;

	LIST_FOREACH(k, &w->keepers, link)
	{
		if (strcmp(k->name, name) == 0)
			return true;
	}
	return false;
}

void keeper_free(struct keeper *k)
{
	if (!k)
		return;
	struct warden *w = k->sb->w;

	if (k->seq)
		front_error(w, k->life, k->seq, ECANCELED, "the sandbox goes on, or has ended");
	if (k->thaw_seq)
		front_error(w, k->thaw_life, k->thaw_seq, ENOENT, "the sandbox has ended");
	LIST_REMOVE(k, link);
	watch_free(k->watch);
	fd_close(k->sock);
	if (k->pid > 0)
		aside_forget(w->loop, k->pid); /* it exits by itself: its sandbox or its result is gone */
	free(k);
}
