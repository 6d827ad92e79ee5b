/* SPDX-License-Identifier: Apache-2.0 */
/* output: what a process prints, read and sent to its clients. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "init/init.h"
#include "init/process/impl.h"
#include "loop/loop.h"

#define READ_MAX (256 * 1024)  /* bytes of one read */
#define SEND_MAX (64 * 1024)   /* sent at once: what is encoded is still in the processor's cache */
#define PIPE_FIRST (64 * 1024) /* the size of a new pipe */
#define PIPE_MAX (512 * 1024)  /* of a command that fills it: one read leaves something in it */

void output_open(struct proc *p, struct output *o, int fd, const char *name, void (*ready)(void *user, int events))
{
	*o = (struct output) { .fd = fd, .p = p, .name = name };
	o->watch = watch_new(p->in->loop, fd, WATCH_IN, ready, p);
}

static void rests_add(struct procs *ps, struct output *o)
{
	if (ps->rests_first)
		ps->rests_last->rests_next = o;
	else
		ps->rests_first = o;
	ps->rests_last = o;
	o->rests = true;
}

static void rests_remove(struct procs *ps, struct output *o)
{
	struct output **at = &ps->rests_first, *before = NULL;

	for (; *at != o; at = &before->rests_next)
		before = *at;
	*at = o->rests_next;
	if (ps->rests_last == o)
		ps->rests_last = before;
	o->rests_next = NULL;
	o->rests = false;
}

void output_close(struct output *o)
{
	if (o->rests)
		rests_remove(&o->p->in->procs, o);
	watch_free(o->watch);
	fd_close(o->fd);
	*o = (struct output) { .fd = -1 };
}

/* A command that has filled its pipe gets a larger one, so that it is woken less often. Its pages need not be full. At
 * the limit of pipe memory of its user the kernel refuses that, and all goes on as before. */
static void widen(struct output *o, ssize_t n)
{
	int size = fcntl(o->fd, F_GETPIPE_SZ);

	if (size > 0 && n < size / 2)
		return;
	o->wide = size < 0 || size >= PIPE_MAX || fcntl(o->fd, F_SETPIPE_SZ, 2 * size) < 0;
}

ssize_t output_pump(struct proc *p, struct output *o)
{
	static char data[READ_MAX];
	ssize_t n = read(o->fd, data, sizeof data);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	if (n <= 0) /* EIO: the terminal's slave is closed everywhere */
		return 0;
	if (n >= PIPE_FIRST / 2 && !o->wide)
		widen(o, n);
	for (ssize_t at = 0; at < n; at += SEND_MAX)
		clients_send_data(p, o->name,
		    (struct str) { data + at, (size_t)(n - at < SEND_MAX ? n - at : SEND_MAX) });
	return n;
}

void proc_flow(struct proc *p)
{
	bool stop = clients_full(p);

	for (size_t i = 0; i < ARRAY_LEN(p->out); i++)
		if (p->out[i].watch)
			watch_set(p->out[i].watch, stop || p->out[i].rests ? 0 : WATCH_IN);
}

/* The order in which watches are set is the order in which they report: what was refused first reads first, however
 * many others print. */
static void on_rested(void *user)
{
	struct procs *ps = &((struct init *)user)->procs;

	ps->resting = false;
	for (struct output *o; (o = ps->rests_first);) {
		rests_remove(ps, o);
		proc_flow(o->p);
	}
}

/* Before a read: whether it has to wait, see pace.h. */
static bool rests(struct proc *p, struct output *o)
{
	struct procs *ps = &p->in->procs;

	if (o->rests)
		return true;
	if (!ps->resting && pace_take(&ps->pace, clock_mono_us())) /* those that rest come first */
		return false;
	if (!ps->rest)
		ps->rest = timer_new(p->in->loop, on_rested, p->in);
	if (!ps->rest)
		return false;
	if (!ps->resting)
		timer_arm(ps->rest, PACE_REST_MS);
	ps->resting = true;
	rests_add(ps, o);
	proc_flow(p);
	return true;
}

ssize_t output_read(struct proc *p, struct output *o)
{
	ssize_t n;

	if (rests(p, o))
		return -EAGAIN;
	n = output_pump(p, o);
	pace_done(&p->in->procs.pace, clock_mono_us());
	return n;
}
