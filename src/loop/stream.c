/* SPDX-License-Identifier: Apache-2.0 */
/* stream: pushes received data to its owner, writes through a queue.
 *
 * The fd stays registered for reading even while reading is off, until it becomes readable: otherwise a server
 * that turns reading off and on again for each request would pay two system calls for each. A closed stream is
 * freed after the round, because its callers may be on the stack.
 *
 * Small writes that one event causes are sent together when that event has been handled: the head of a message and
 * the first piece of its body cost one system call and one packet, not two. */
#include "loop/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "loop/carrier.h"
#include "loop/loop.h"
#include "loop/share.h"
#include "loop/stream_impl.h"
#include "loop/streams.h"

#define QUEUE_KEEP (16 * 1024) /* memory that an empty queue may keep */
#define PIECES_MAX 8
#define JOIN_MAX (16 * 1024)   /* bytes that may wait for the end of an event */
#define JOIN_KEEP 2048         /* memory that a queue keeps after it was sent at once */
#define WIRE_KEEP (512 * 1024) /* memory that the buffer for filtered bytes may keep */

static void on_ready(void *user, int events);
static void on_turn(struct share_member *m);
static void end_later(void *p);

void stream_gone(void *p)
{
	struct stream *s = p;

	if (s->filter)
		s->filter->ops->free(s->filter);
	carrier_drop(&s->held);
	buf_done(&s->out);
	free(s);
}

static void set_events(struct stream *s, int events)
{
	if (s->watch && s->events != events) {
		s->events = events;
		watch_set(s->watch, events);
	}
}

/* Resumes reading that was paused because `to` had data queued. */
static void go_on(struct stream *s)
{
	s->stalled = false;
	if (s->reading && !s->eof && !s->dead)
		set_events(s, s->events | WATCH_IN);
}

/* Ends the splice between two streams. NULL is allowed. */
static void part(struct stream *s)
{
	if (!s || !s->to)
		return;
	s->to->from = NULL;
	s->to = NULL;
	if (s->stalled)
		go_on(s);
}

static void stop_joining(struct stream *s)
{
	if (!s->joins)
		return;
	TAILQ_REMOVE(&loop_joined(s->loop)->streams, s, joining);
	s->joins = false;
}

static void stream_drop(struct stream *s)
{
	stop_joining(s);
	part(s);
	part(s->from);
	share_join(&s->member, NULL);
	stream_leave_by(s, NULL);
	watch_free(take_ptr(&s->watch));
	timer_free(take_ptr(&s->linger));
	s->ops = NULL;
	s->dead = true;
	loop_defer(s->loop, stream_gone, s);
}

struct stream *stream_new(struct loop *l, int fd, const struct stream_ops *ops, void *user)
{
	struct stream *s = calloc(1, sizeof *s);

	if (s)
		s->watch = watch_new(l, fd, 0, on_ready, s);
	if (!s || !s->watch) {
		free(s);
		fd_close(fd);
		return NULL;
	}
	s->loop = l;
	s->member.serve = on_turn;
	s->ops = ops;
	s->user = user;
	s->fd = fd;
	s->held = (struct carrier)CARRIER_EMPTY;
	s->out = BUF_INIT(STREAM_QUEUE_MAX);
	return s;
}

void stream_filter(struct stream *s, struct stream_filter *f)
{
	s->filter = f;
}

void stream_share(struct stream *s, struct share *sh)
{
	share_join(&s->member, sh);
}

static void ignore(void *user)
{
	(void)user;
}

static void ignore_data(void *user, struct str data)
{
	(void)user;
	(void)data;
}

static void ignore_error(void *user, int no)
{
	(void)user;
	(void)no;
}

const struct stream_ops stream_unowned = { .on_data = ignore_data, .on_eof = ignore, .on_error = ignore_error };

void stream_rebind(struct stream *s, const struct stream_ops *ops, void *user)
{
	s->ops = ops;
	s->user = user;
	s->reading = false;
	part(s);
	part(s->from);
}

/* The first error ends the stream. It is reported immediately; callers are top-level callbacks only. */
static void report(struct stream *s)
{
	s->dead = true;
	part(s->from);
	set_events(s, 0);
	if (s->ops)
		s->ops->on_error(s->user, s->error);
}

static void report_later(void *p)
{
	struct stream *s = p;

	if (s->ops && !s->dead)
		report(s);
}

/* A peer that answers early and closes makes writes fail while its answer can still be read. So if reading is
 * on, the error is reported after the data that the peer has sent. */
static void write_failed(struct stream *s, int no)
{
	if (s->error)
		return;
	s->error = no;
	stop_joining(s);
	part(s->from);
	carrier_drop(&s->held);
	buf_done(&s->out);
	s->off = 0;
	if (s->reading && !s->eof)
		set_events(s, WATCH_IN);
	else
		loop_defer(s->loop, report_later, s);
}

void stream_read(struct stream *s, bool on)
{
	s->reading = on;
	if (on && s->end_held)
		loop_defer(s->loop, end_later, s);
	else if (on && !s->eof && !s->dead && !s->stalled)
		set_events(s, s->events | WATCH_IN);
	else if (!on && s->error && !s->dead)
		loop_defer(s->loop, report_later, s);
}

void stream_read_max(struct stream *s, size_t n)
{
	s->read_max = n;
}

size_t stream_queued(const struct stream *s)
{
	return s->joins ? 0 : s->held.n + s->out.n - s->off;
}

/* The first event while reading is off ends the registration for it, see on_readable(). */
bool stream_has_failed(const struct stream *s)
{
	return s->error || s->dead;
}

bool stream_is_quiet(const struct stream *s)
{
	return !s->reading && (s->events & WATCH_IN) && !s->eof && !s->dead && !s->error;
}

int stream_fd(const struct stream *s)
{
	return s->fd;
}

static void half_close(struct stream *s)
{
	s->finished = true;
	if (shutdown(s->fd, SHUT_WR) == 0 || errno != ENOTSOCK)
		return;
	watch_free(take_ptr(&s->watch)); /* a pipe has only one direction */
	fd_close(take_fd(&s->fd));
	s->eof = true;
}

/* Queues what the kernel did not accept. skip: bytes of v that it did. */
static void enqueue(struct stream *s, const struct str *v, size_t n, size_t skip)
{
	if (s->off && s->off >= s->out.n / 2) {
		buf_consume(&s->out, s->off);
		s->off = 0;
	}
	for (size_t i = 0; i < n; i++) {
		size_t cut = skip < v[i].n ? skip : v[i].n;

		buf_put(&s->out, v[i].p + cut, v[i].n - cut);
		skip -= cut;
	}
	if (s->out.bad) {
		write_failed(s, ENOBUFS);
		return;
	}
	if (stream_queued(s) > STREAM_LOW)
		s->above = true;
	set_events(s, s->events | WATCH_OUT);
}

/* Returns the bytes that the kernel accepted, or -1 after an error that ends the stream. */
static ssize_t write_pieces(struct stream *s, const struct iovec *iov, size_t n)
{
	ssize_t sent;

	do
		sent = n == 1 ? write(s->fd, iov[0].iov_base, iov[0].iov_len) : writev(s->fd, iov, (int)n);
	while (sent < 0 && errno == EINTR);
	if (sent < 0 && errno == EAGAIN)
		return 0;
	if (sent < 0)
		write_failed(s, errno);
	return sent;
}

/* The rest becomes an ordinary queue. */
void stream_push(struct stream *s)
{
	if (!s->joins)
		return;
	stop_joining(s);

	ssize_t sent = write_pieces(s, &(struct iovec) { s->out.p, s->out.n }, 1);

	if (sent < 0)
		return;
	if ((size_t)sent < s->out.n) {
		s->off = (size_t)sent;
		enqueue(s, NULL, 0, 0);
		return;
	}
	buf_clear(&s->out);
	if (s->out.cap > JOIN_KEEP)
		buf_done(&s->out);
}

/* True if the bytes can wait until the event that is being handled is over. */
static bool join(struct stream *s, const struct str *v, size_t n, size_t total)
{
	struct joined *all = loop_joined(s->loop);

	if (all->depth == 0 || stream_queued(s) > 0 || total + (s->joins ? s->out.n : 0) > JOIN_MAX)
		return false;
	if (!s->joins) {
		s->joins = true;
		TAILQ_INSERT_TAIL(&all->streams, s, joining);
	}
	for (size_t i = 0; i < n; i++)
		buf_put(&s->out, v[i].p, v[i].n);
	if (s->out.bad)
		write_failed(s, ENOBUFS);
	return true;
}

void joined_begin(struct joined *all)
{
	all->depth++;
}

void joined_end(struct joined *all)
{
	struct stream *s;

	if (--all->depth > 0)
		return;
	while ((s = TAILQ_FIRST(&all->streams)))
		stream_push(s);
}

static void write_raw(struct stream *s, const struct str *v, size_t n)
{
	struct iovec iov[PIECES_MAX];
	size_t total = 0, n_iov = 0;
	ssize_t sent = 0;

	for (size_t i = 0; i < n; i++) {
		if (v[i].n)
			iov[n_iov++] = (struct iovec) { (void *)v[i].p, v[i].n };
		total += v[i].n;
	}
	if (total == 0 || join(s, v, n, total))
		return;
	stream_push(s);
	if (s->error)
		return;
	if (stream_queued(s) == 0)
		sent = write_pieces(s, iov, n_iov);
	if (sent >= 0 && (size_t)sent < total)
		enqueue(s, v, n, (size_t)sent);
}

/* Sends the filter's output from `wire`. */
static void write_wire(struct stream *s, struct buf *wire)
{
	if (wire->bad)
		write_failed(s, ENOBUFS);
	else
		write_raw(s, &(struct str) { wire->p, wire->n }, 1);
	if (wire->cap > WIRE_KEEP)
		buf_done(wire);
}

/* The buffer for the output of the filter, empty. */
static struct buf *wire_of(const struct stream *s)
{
	struct buf *wire = &loop_stream_room(s->loop)->wire;

	buf_clear(wire);
	return wire;
}

static void write_filtered(struct stream *s, const struct str *v, size_t n)
{
	struct buf *wire = wire_of(s);
	int r = s->filter->ops->encode(s->filter, v, n, wire);

	write_wire(s, wire);
	if (r < 0)
		write_failed(s, -r);
}

void stream_writev(struct stream *s, const struct str *v, size_t n)
{
	if (s->error || s->dead || s->finishing)
		return;
	if (s->filter)
		write_filtered(s, v, n);
	else
		write_raw(s, v, n);
}

void stream_write(struct stream *s, struct str data)
{
	stream_writev(s, &data, 1);
}

ssize_t stream_sendfile(struct stream *s, int fd, off_t *at, size_t n)
{
	ssize_t sent = -1;

	if (s->error || s->dead || s->finishing)
		return -EPIPE;
	if (s->filter)
		return -EOPNOTSUPP;
	stream_push(s);
	if (s->error)
		return -EPIPE;
	if (stream_queued(s) == 0) {
		do
			sent = sendfile(s->fd, fd, at, n);
		while (sent < 0 && errno == EINTR);
		if (sent > 0)
			return sent;
		if (sent == 0)
			return -ENODATA;
		if (errno != EAGAIN)
			return errno == EINVAL || errno == ENOSYS ? -EOPNOTSUPP : -errno;
	}
	s->above = true;
	set_events(s, s->events | WATCH_OUT);
	return 0;
}

bool stream_splice(struct stream *s, struct stream *to, uint64_t n)
{
	stream_push(to);
	if (s->filter || to->filter || s->dead || to->dead || to->error || to->finishing || (to->from && to->from != s))
		return false;
	part(s);
	if (n == 0)
		return true;
	s->to = to;
	to->from = s;
	s->moves = n;
	return true;
}

void stream_finish(struct stream *s)
{
	if (s->finishing || s->error || s->dead)
		return;
	if (s->filter) {
		struct buf *wire = wire_of(s);

		s->filter->ops->finish(s->filter, wire);
		write_wire(s, wire);
	}
	stream_push(s);
	if (s->error)
		return;
	s->finishing = true;
	if (stream_queued(s) == 0)
		half_close(s);
}

/* Sends part of the queue; false: no room now, or an error. */
static bool flush_some(struct stream *s)
{
	if (s->held.n > 0) {
		int r = carrier_unload(&s->held, s->fd);

		if (r < 0)
			write_failed(s, -r);
		if (r < 0 || s->held.n > 0 || s->out.n == s->off)
			return r == 0;
	}
	ssize_t sent = write(s->fd, s->out.p + s->off, s->out.n - s->off);

	if (sent < 0) {
		if (errno != EAGAIN && errno != EINTR)
			write_failed(s, errno);
		return false;
	}
	s->off += (size_t)sent;
	return true;
}

static void flush(struct stream *s)
{
	if (!flush_some(s))
		return;
	if (stream_queued(s) == 0) {
		buf_clear(&s->out);
		s->off = 0;
		if (s->finishing)
			half_close(s);
	}
	if (s->ops == &stream_linger_ops)
		stream_linger_progress(s);
	if (s->above && stream_queued(s) <= STREAM_LOW) {
		s->above = false;
		if (s->ops && s->ops->on_drain)
			s->ops->on_drain(s->user);
	}
	/* Checked again, because on_drain has usually filled the queue again. */
	if (stream_queued(s) == 0) {
		set_events(s, s->events & ~WATCH_OUT);
		if (!s->joins && s->out.cap > QUEUE_KEEP)
			buf_done(&s->out);
		if (s->from && s->from->stalled)
			go_on(s->from);
	}
}

/* The queue is empty, but the owner may wait for room to send bytes that are not queued: see stream_sendfile(). */
static void has_room(struct stream *s)
{
	bool told = s->above;

	s->above = false;
	if (told && s->ops && s->ops->on_drain)
		s->ops->on_drain(s->user);
	if (!s->above && stream_queued(s) == 0)
		set_events(s, s->events & ~WATCH_OUT);
}

static void on_end(struct stream *s)
{
	s->eof = true;
	set_events(s, s->events & ~WATCH_IN);
	if (s->error)
		report(s);
	else
		s->ops->on_eof(s->user);
}

/* The filter has seen the end of the peer's side. It is reported like one on the wire, to an owner that reads. */
static void end_later(void *p)
{
	struct stream *s = p;

	if (s->end_held && s->reading && s->ops && !s->dead && !s->eof)
		on_end(s);
}

static void on_filtered(struct stream *s, struct str in)
{
	struct str plain = STR_NULL;
	struct buf *wire = wire_of(s);
	int r = s->filter->ops->decode(s->filter, in, &plain, wire);

	write_wire(s, wire);
	if (r < 0) {
		if (!s->error)
			s->error = -r;
		report(s);
		return;
	}
	if ((r & STREAM_FILTER_READY) && s->ops->on_ready)
		s->ops->on_ready(s->user);
	if (plain.n && s->ops && !s->dead)
		s->ops->on_data(s->user, plain);
	if (r & STREAM_FILTER_END) {
		s->end_held = true;
		end_later(s);
	}
}

/* Moves bytes to the target of the splice. False: they have to be read. */
static bool move_on(struct stream *s)
{
	struct stream *to = s->to;

	stream_push(to); /* what it was given before comes first */
	if (s->to != to)
		return false;
	if (stream_queued(to) > 0) {
		s->stalled = true;
		set_events(s, s->events & ~WATCH_IN);
		return true;
	}
	ssize_t n = carrier_load(&to->held, s->fd, s->moves < CARRIER_MAX ? (size_t)s->moves : CARRIER_MAX);
	if (n == -EAGAIN)
		return true;
	if (n <= 0) { /* also at end of file and on errors: reading will report them */
		part(s);
		return false;
	}
	s->moves -= (uint64_t)n;
	int r = carrier_unload(&to->held, to->fd);
	if (r < 0)
		write_failed(to, -r);
	else if (to->held.n > 0)
		set_events(to, to->events | WATCH_OUT);
	if (s->moves == 0)
		part(s);
	s->ops->on_moved(s->user, (size_t)n);
	return true;
}

static void on_readable(struct stream *s)
{
	if (!s->reading || s->eof || s->end_held || s->stalled) {
		set_events(s, s->events & ~WATCH_IN);
		return;
	}
	if (s->to && move_on(s))
		return;
	char *scratch = loop_stream_room(s->loop)->scratch;
	size_t max = s->read_max && s->read_max < STREAM_READ_SIZE ? s->read_max : STREAM_READ_SIZE;
	ssize_t n = read(s->fd, scratch, max);
	if (n > 0 && s->filter && s->ops != &stream_linger_ops) {
		on_filtered(s, (struct str) { scratch, (size_t)n });
	} else if (n > 0) {
		s->ops->on_data(s->user, (struct str) { scratch, (size_t)n });
	} else if (n == 0 || errno == EIO) {
		on_end(s); /* EIO: the last program on a terminal has closed it; seen at the master */
	} else if (errno != EAGAIN && errno != EINTR) {
		if (!s->error)
			s->error = errno;
		report(s);
	}
}

static void act(struct stream *s, int events)
{
	struct joined *all = loop_joined(s->loop);

	joined_begin(all);
	if ((events & WATCH_OUT) && stream_queued(s) > 0)
		flush(s);
	else if (events & WATCH_OUT)
		has_room(s);
	if ((events & WATCH_IN) && s->ops && !s->dead && s->watch)
		on_readable(s);
	joined_end(all);
}

static void on_turn(struct share_member *m)
{
	struct stream *s = container_of(m, struct stream, member);

	act(s, s->ready);
}

/* The fd stays registered while the stream waits for its turn. It is reported again in each round, which is
 * cheaper than changing the registration twice. */
static void on_ready(void *user, int events)
{
	struct stream *s = user;

	if (s->member.waits)
		s->ready |= events;
	else
		s->ready = events;
	if (s->member.share)
		share_ask(&s->member);
	else
		act(s, events);
}

void stream_close(struct stream *s)
{
	if (!s)
		return;
	stream_push(s); /* an owner that writes and then closes has written */
	stream_drop(s);
	fd_close(take_fd(&s->fd));
}

void stream_reset(struct stream *s)
{
	const struct linger now = { .l_onoff = 1, .l_linger = 0 };

	if (!s)
		return;
	(void)setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
	stream_close(s);
}

int stream_enter(struct stream *s, struct loop *l)
{
	s->watch = watch_new(l, s->fd, 0, on_ready, s);
	if (!s->watch)
		return -ENOMEM;
	s->loop = l;
	if (stream_queued(s) > 0)
		set_events(s, WATCH_OUT);
	return 0;
}

int stream_take_fd(struct stream *s)
{
	stream_push(s);
	stream_drop(s);
	return take_fd(&s->fd);
}
