/* SPDX-License-Identifier: Apache-2.0 */
/* loop: libuv handles that their owners may free at any time.
 *
 * libuv closes a handle in a later phase of the loop, so each object lives until its close callback, with fn ==
 * NULL meanwhile. Deferred calls run right before and right after polling, and an idle handle keeps the loop
 * from sleeping while any are left. */
#include "loop/loop.h"

#include <signal.h>
#include <stdlib.h>
#include <uv.h>

#include "loop/mailbox.h"
#include "loop/share.h"
#include "loop/streams.h"

#define LEAVING_MAX 256 /* unless loop_leaving_max() says otherwise */

struct deferred {
	void (*fn)(void *p);
	void *p;
};

struct loop {
	uv_loop_t uv;
	uv_prepare_t prepare;
	uv_check_t check;
	uv_idle_t idle;
	struct deferred *calls; /* emptied in each round */
	size_t n_calls, cap_calls;
	struct leaving leaving;
	struct joined joined;
	struct shares shares;
	struct stream_room room; /* the last member: most of it is never touched in a small program */
};

struct watch {
	uv_poll_t h;
	int events; /* registered with libuv */
	watch_fn *fn;
	void *user;
};

struct timer {
	uv_timer_t h;
	timer_fn *fn;
	void *user;
};

struct sigwatch {
	uv_signal_t h;
	signal_fn *fn;
	void *user;
};

static void on_sigpipe(int signo)
{
	(void)signo;
}

/* Writing to a pipe without a reader must return EPIPE and not kill the process. A handler is used instead of
 * SIG_IGN, because exec() resets it, so that child programs get the default behaviour. */
static void tame_sigpipe(void)
{
	struct sigaction sa;

	if (sigaction(SIGPIPE, NULL, &sa) == 0 && sa.sa_handler == SIG_DFL) {
		sa = (struct sigaction) { .sa_handler = on_sigpipe, .sa_flags = SA_RESTART };
		(void)sigaction(SIGPIPE, &sa, NULL);
	}
}

/* Runs the calls that are pending now. Calls that they defer wait for the next time, so that a call that defers
 * itself again cannot starve the fds. */
static void run_deferred(struct loop *l)
{
	struct deferred *calls = l->calls;
	size_t n = l->n_calls, cap = l->cap_calls;

	if (n == 0)
		return;
	l->calls = NULL;
	l->n_calls = l->cap_calls = 0;
	for (size_t i = 0; i < n; i++) {
		joined_begin(&l->joined);
		calls[i].fn(calls[i].p);
		joined_end(&l->joined);
	}
	if (l->n_calls == 0) {
		free(l->calls); /* the larger array is kept for the next round */
		l->calls = calls;
		l->cap_calls = cap;
	} else {
		free(calls);
	}
}

static void on_idle(uv_idle_t *h)
{
	(void)h;
}

/* An active idle handle keeps libuv from sleeping while there is work to do. Both calls are no-ops if nothing
 * changes. */
static void stay_awake(struct loop *l)
{
	if (l->n_calls || !TAILQ_EMPTY(&l->shares.active))
		(void)uv_idle_start(&l->idle, on_idle);
	else
		(void)uv_idle_stop(&l->idle);
}

static void on_prepare(uv_prepare_t *h)
{
	run_deferred(h->data);
	stay_awake(h->data);
}

static void on_check(uv_check_t *h)
{
	struct loop *l = h->data;

	shares_serve(&l->shares);
	/* Twice, because objects are often freed in two steps: what is left keeps the next poll from sleeping. */
	run_deferred(l);
	run_deferred(l);
	stay_awake(l);
}

struct loop *loop_new(void)
{
	struct loop *l = calloc(1, sizeof *l);

	if (!l)
		return NULL;
	if (uv_loop_init(&l->uv) < 0) {
		free(l);
		return NULL;
	}
	tame_sigpipe();
	(void)uv_prepare_init(&l->uv, &l->prepare);
	(void)uv_check_init(&l->uv, &l->check);
	(void)uv_idle_init(&l->uv, &l->idle);
	l->prepare.data = l->check.data = l;
	TAILQ_INIT(&l->leaving.sending);
	TAILQ_INIT(&l->leaving.waiting);
	TAILQ_INIT(&l->joined.streams);
	TAILQ_INIT(&l->shares.active);
	l->room.wire = BUF_INIT(STREAM_QUEUE_MAX);
	l->leaving.max = LEAVING_MAX;
	(void)uv_prepare_start(&l->prepare, on_prepare); /* keeps the loop running until loop_stop() */
	(void)uv_check_start(&l->check, on_check);
	return l;
}

void loop_run(struct loop *l)
{
	(void)uv_run(&l->uv, UV_RUN_DEFAULT);
}

void loop_stop(struct loop *l)
{
	uv_stop(&l->uv);
}

static void close_leftover(uv_handle_t *h, void *arg)
{
	(void)arg;
	if (!uv_is_closing(h))
		uv_close(h, NULL);
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	leaving_end(&l->leaving);
	while (l->n_calls)
		run_deferred(l);
	uv_walk(&l->uv, close_leftover, NULL);
	while (uv_run(&l->uv, UV_RUN_NOWAIT))
		;
	(void)uv_loop_close(&l->uv);
	buf_done(&l->room.wire);
	free(l->calls);
	free(l);
}

struct leaving *loop_leaving(struct loop *l)
{
	return &l->leaving;
}

struct stream_room *loop_stream_room(struct loop *l)
{
	return &l->room;
}

struct uv_loop_s *loop_uv(struct loop *l)
{
	return &l->uv;
}

struct joined *loop_joined(struct loop *l)
{
	return &l->joined;
}

struct shares *loop_shares(struct loop *l)
{
	return &l->shares;
}

void loop_leaving_max(struct loop *l, size_t max)
{
	l->leaving.max = max;
}

uint64_t loop_now_ms(struct loop *l)
{
	return uv_now(&l->uv);
}

void loop_defer(struct loop *l, void (*fn)(void *p), void *p)
{
	if (l->n_calls == l->cap_calls) {
		size_t cap = l->cap_calls ? 2 * l->cap_calls : 32;
		struct deferred *calls = realloc(l->calls, cap * sizeof *calls);

		if (!calls)
			abort(); /* the object would never be freed, or too early: neither is safe */
		l->calls = calls;
		l->cap_calls = cap;
	}
	if (l->n_calls == 0)
		(void)uv_idle_start(&l->idle, on_idle);
	l->calls[l->n_calls++] = (struct deferred) { fn, p };
}

static void on_closed(uv_handle_t *h)
{
	free(h); /* the handle is the first member of every object */
}

static void on_poll(uv_poll_t *h, int status, int events);

static int uv_mask(int events)
{
	return (events & WATCH_IN ? UV_READABLE : 0) | (events & WATCH_OUT ? UV_WRITABLE : 0) |
	    (events & WATCH_PRI ? UV_PRIORITIZED : 0);
}

static void on_poll(uv_poll_t *h, int status, int events)
{
	struct watch *w = (struct watch *)h;
	int seen = (events & UV_READABLE ? WATCH_IN : 0) | (events & UV_WRITABLE ? WATCH_OUT : 0) |
	    (events & UV_PRIORITIZED ? WATCH_PRI : 0);

	if (!w->fn)
		return;
	if (status < 0) {
		/* libuv stops a handle on an error condition. Not every such fd is lost (a UDP socket reports a
		 * closed port this way), so keep it registered and let the owner's read find out. */
		seen = WATCH_IN | (w->events & WATCH_OUT);
		(void)uv_poll_start(h, uv_mask(w->events), on_poll);
	}
	w->fn(w->user, seen);
}

struct watch *watch_new(struct loop *l, int fd, int events, watch_fn *fn, void *user)
{
	struct watch *w = calloc(1, sizeof *w);

	if (!w)
		return NULL;
	if (uv_poll_init(&l->uv, &w->h, fd) < 0) {
		free(w);
		return NULL;
	}
	w->fn = fn;
	w->user = user;
	watch_set(w, events);
	return w;
}

void watch_set(struct watch *w, int events)
{
	if (events == w->events)
		return;
	w->events = events;
	if (events)
		(void)uv_poll_start(&w->h, uv_mask(events), on_poll);
	else
		(void)uv_poll_stop(&w->h);
}

void watch_free(struct watch *w)
{
	if (!w)
		return;
	w->fn = NULL;
	uv_close((uv_handle_t *)&w->h, on_closed);
}

static void on_timer(uv_timer_t *h)
{
	struct timer *t = (struct timer *)h;

	if (t->fn)
		t->fn(t->user);
}

struct timer *timer_new(struct loop *l, timer_fn *fn, void *user)
{
	struct timer *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	(void)uv_timer_init(&l->uv, &t->h);
	t->fn = fn;
	t->user = user;
	return t;
}

void timer_arm(struct timer *t, uint64_t after_ms)
{
	/* libuv counts from the start of the round; after long work in a callback the timer would fire too
	 * early. */
	uv_update_time(t->h.loop);
	(void)uv_timer_start(&t->h, on_timer, after_ms, 0);
}

void timer_disarm(struct timer *t)
{
	(void)uv_timer_stop(&t->h);
}

void timer_free(struct timer *t)
{
	if (!t)
		return;
	t->fn = NULL;
	uv_close((uv_handle_t *)&t->h, on_closed);
}

static void on_signal(uv_signal_t *h, int signo)
{
	struct sigwatch *s = (struct sigwatch *)h;

	if (s->fn)
		s->fn(s->user, signo);
}

struct sigwatch *sigwatch_new(struct loop *l, int signo, signal_fn *fn, void *user)
{
	struct sigwatch *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	if (uv_signal_init(&l->uv, &s->h) < 0) {
		free(s);
		return NULL;
	}
	s->fn = fn;
	s->user = user;
	if (uv_signal_start(&s->h, on_signal, signo) < 0) {
		sigwatch_free(s);
		return NULL;
	}
	return s;
}

void sigwatch_free(struct sigwatch *s)
{
	if (!s)
		return;
	s->fn = NULL;
	uv_close((uv_handle_t *)&s->h, on_closed);
}
