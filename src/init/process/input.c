/* SPDX-License-Identifier: Apache-2.0 */
/* input: the input of a process, and the calls that wait for the process. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "init/call.h"
#include "init/init.h"
#include "init/process/impl.h"
#include "loop/loop.h"

#define INPUT_LOW (64 * 1024) /* a writer is answered when no more than this is queued */
#define EXIT_WAIT_MS 250

/* Waiting calls. */

static void wait_free(struct wait *w)
{
	struct wait **at = &w->p->waits;

	while (*at && *at != w)
		at = &(*at)->next;
	if (*at)
		*at = w->next;
	w->c->on_gone = NULL;
	timer_free(w->limit);
	free(w);
}

static void wait_end(struct wait *w, int rc)
{
	struct call *c = w->c;
	void (*done)(struct call *c, int rc) = w->done;

	wait_free(w);
	done(c, rc);
}

static void on_gone(struct call *c)
{
	wait_free(c->state);
}

static void on_limit(void *user)
{
	wait_end(user, 0);
}

int wait_add(struct proc *p, enum wait_for what, struct call *c, void (*done)(struct call *c, int rc))
{
	struct wait *w = calloc(1, sizeof(*w)), **at = &p->waits;

	if (!w)
		return -ENOMEM;
	*w = (struct wait) { .p = p, .what = what, .c = c, .done = done };
	if (what == WAIT_EXIT) {
		w->limit = timer_new(p->in->loop, on_limit, w);
		if (!w->limit) {
			free(w);
			return -ENOMEM;
		}
		timer_arm(w->limit, EXIT_WAIT_MS);
	}
	while (*at) /* in order of arrival */
		at = &(*at)->next;
	*at = w;
	c->state = w;
	c->on_gone = on_gone;
	return 0;
}

void waits_wake(struct proc *p, enum wait_for what, int rc)
{
	for (;;) {
		struct wait *w = p->waits;

		while (w && w->what != what)
			w = w->next;
		if (!w)
			return;
		wait_end(w, rc);
	}
}

/* The queue. */

void input_init(struct input *in, struct proc *p, int fd)
{
	*in = (struct input) { .p = p, .fd = fd, .queue = BUF_INIT(PROC_INPUT_MAX) };
}

void input_close(struct input *in)
{
	watch_free(in->watch);
	fd_close(in->fd);
	buf_done(&in->queue);
	in->watch = NULL;
	in->fd = -1;
	in->taken = 0;
}

static size_t waiting(const struct input *in)
{
	return in->queue.n - in->taken;
}

static void on_writable(void *user, int events);

/* Writes as much of the queue as the process accepts now. 0 or -errno (then the input is closed). */
static int input_flush(struct input *in)
{
	while (waiting(in)) {
		ssize_t n = write(in->fd, in->queue.p + in->taken, waiting(in));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN) {
			int no = errno;

			input_close(in);
			return -no;
		}
		if (n < 0)
			break;
		in->taken += (size_t)n;
	}
	if (waiting(in) == 0) {
		buf_done(&in->queue); /* most inputs are small and rare, so the memory is not kept */
		in->taken = 0;
		watch_free(in->watch);
		in->watch = NULL;
		if (in->closing)
			input_close(in);
	} else if (!in->watch) {
		in->watch = watch_new(in->p->in->loop, in->fd, WATCH_OUT, on_writable, in);
	}
	return 0;
}

static void on_writable(void *user, int events)
{
	struct input *in = user;
	struct proc *p = in->p;
	int rc = input_flush(in);

	(void)events;
	if (rc < 0 || waiting(in) <= INPUT_LOW)
		waits_wake(p, WAIT_INPUT, rc);
}

int proc_write(struct proc *p, bool tty, struct str data, struct call *c, void (*done)(struct call *c, int rc))
{
	struct input *in = &p->input;
	int rc;

	if (tty != p->tty)
		return tty ? -ENOTTY : -EISCONN;
	if (in->fd < 0 || in->closing)
		return -EBADF;
	if (in->taken > 1024 * 1024) {
		buf_consume(&in->queue, in->taken);
		in->taken = 0;
	}
	if (in->queue.max - in->queue.n < data.n)
		return -ENOBUFS;
	buf_str(&in->queue, data);
	if (in->queue.bad)
		return -ENOMEM;
	rc = input_flush(in);
	if (rc == 0 && waiting(in) > INPUT_LOW)
		return wait_add(p, WAIT_INPUT, c, done);
	done(c, rc);
	return 0;
}

int proc_close_stdin(struct proc *p)
{
	struct input *in = &p->input;

	if (p->tty)
		return -ENOTTY;
	if (in->fd < 0)
		return 0;
	in->closing = true;
	if (waiting(in) == 0)
		input_close(in);
	return 0;
}
