/* SPDX-License-Identifier: Apache-2.0 */
/* stream: pushes received data to its owner, writes through a queue.
 *
 * The fd stays registered for reading even while reading is off, until it becomes readable: otherwise a server
 * that turns reading off and on again for each request would pay two system calls for each. A closed stream is
 * freed after the round, because its callers may be on the stack. */
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
#include "loop/leaving.h"
#include "loop/loop.h"
#include "loop/share.h"

#define READ_SIZE (256 * 1024)       /* bytes read per readiness event */
#define QUEUE_MAX (64 * 1024 * 1024) /* a writer that ignores stream_queued() fails here */
#define QUEUE_KEEP (16 * 1024)       /* memory that an empty queue may keep */
#define FLUSH_MS 30000               /* stream_close_flushed(): longest time without progress, */
#define FLUSH_TOTAL_MS 600000        /* longest time until the queue is empty, */
#define LINGER_MS 2000               /* and longest wait for the peer to close, too */
#define PIECES_MAX 8
#define WIRE_KEEP (512 * 1024) /* memory that the buffer for filtered bytes may keep */

struct stream {
	struct loop *loop;
	struct watch *watch;
	struct timer *linger; /* only after stream_close_flushed(), */
	TAILQ_ENTRY(stream) leaving;
	struct stream_list *left_by; /* the list of the loop that it is in */
	struct share_member member;
	int ready;                    /* events that wait for a turn of its share */
	const struct stream_ops *ops; /* NULL: closed, no callbacks */
	void *user;
	struct stream_filter *filter; /* NULL: none */
	int fd;
	int events;          /* registered with the watch */
	struct carrier held; /* queue: first the bytes that another stream has moved here, */
	struct buf out;      /* then these; the first `off` bytes are already sent */
	size_t off;
	struct stream *to, *from; /* target of the next `moves` bytes; source */
	uint64_t moves;
	size_t read_max;         /* 0: the whole scratch buffer */
	uint64_t flush_until_ms; /* closing: gives up at that time */
	int error;               /* to be reported; writing is not possible any more */
	bool reading, eof, dead, finishing, finished, above;
	bool end_held; /* the filter has seen the end, not reported yet */
	bool stalled;  /* not read until `to` has sent its queue */
};

/* Shared by all streams: data is valid only during the call, and reads happen only from the loop, never nested. */
static char scratch[READ_SIZE];

/* Buffer for the output of filters that can be sent at once. */
static struct buf wire = { .max = QUEUE_MAX };

static void on_ready(void *user, int events);
static void on_turn(struct share_member *m);
static void end_later(void *p);
static void linger_progress(struct stream *s);
static const struct stream_ops linger_ops;

static void stream_gone(void *p)
{
	struct stream *s = p;

	if (s->filter)
		s->filter->ops->free(s->filter);
	carrier_drop(&s->held);
	buf_done(&s->out);
	free(s);
}

/* Moves the stream to another list of closing streams, or out of them (NULL). */
static void leave_by(struct stream *s, struct stream_list *list)
{
	struct leaving *all = loop_leaving(s->loop);

	if (s->left_by) {
		TAILQ_REMOVE(s->left_by, s, leaving);
		all->n--;
	}
	if (list) {
		TAILQ_INSERT_TAIL(list, s, leaving);
		all->n++;
	}
	s->left_by = list;
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

static void stream_drop(struct stream *s)
{
	part(s);
	part(s->from);
	share_join(&s->member, NULL);
	leave_by(s, NULL);
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
	s->out = BUF_INIT(QUEUE_MAX);
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
	return s->held.n + s->out.n - s->off;
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
	if (total == 0)
		return;
	if (stream_queued(s) == 0) {
		do
			sent = n_iov == 1 ? write(s->fd, iov[0].iov_base, iov[0].iov_len)
					  : writev(s->fd, iov, (int)n_iov);
		while (sent < 0 && errno == EINTR);
		if (sent < 0 && errno != EAGAIN) {
			write_failed(s, errno);
			return;
		}
		if (sent < 0)
			sent = 0;
	}
	if ((size_t)sent < total)
		enqueue(s, v, n, (size_t)sent);
}

/* Sends the filter's output from `wire`. */
static void write_wire(struct stream *s)
{
	if (wire.bad)
		write_failed(s, ENOBUFS);
	else
		write_raw(s, &(struct str) { wire.p, wire.n }, 1);
	if (wire.cap > WIRE_KEEP)
		buf_done(&wire);
}

static void write_filtered(struct stream *s, const struct str *v, size_t n)
{
	buf_clear(&wire);
	int r = s->filter->ops->encode(s->filter, v, n, &wire);

	write_wire(s);
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
		buf_clear(&wire);
		s->filter->ops->finish(s->filter, &wire);
		write_wire(s);
	}
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
	if (s->ops == &linger_ops)
		linger_progress(s);
	if (s->above && stream_queued(s) <= STREAM_LOW) {
		s->above = false;
		if (s->ops && s->ops->on_drain)
			s->ops->on_drain(s->user);
	}
	/* Checked again, because on_drain has usually filled the queue again. */
	if (stream_queued(s) == 0) {
		set_events(s, s->events & ~WATCH_OUT);
		if (s->out.cap > QUEUE_KEEP)
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

	buf_clear(&wire);
	int r = s->filter->ops->decode(s->filter, in, &plain, &wire);

	write_wire(s);
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
	size_t max = s->read_max && s->read_max < sizeof scratch ? s->read_max : sizeof scratch;
	ssize_t n = read(s->fd, scratch, max);
	if (n > 0 && s->filter && s->ops != &linger_ops) {
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
	if ((events & WATCH_OUT) && stream_queued(s) > 0)
		flush(s);
	else if (events & WATCH_OUT)
		has_room(s);
	if ((events & WATCH_IN) && s->ops && !s->dead && s->watch)
		on_readable(s);
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

int stream_take_fd(struct stream *s)
{
	stream_drop(s);
	return take_fd(&s->fd);
}

/* The rest is for stream_close_flushed(): the stream has no owner any more. It sends its queue, half-closes, and
 * reads until the peer closes, too: closing with unread input would reset the connection, and the reset could
 * overtake the answer that tells the peer why. */

static void linger_error(void *user, int no)
{
	(void)no;
	stream_close(user);
}

static void linger_eof(void *user)
{
	struct stream *s = user;

	if (s->finished)
		stream_close(s);
}

static void linger_data(void *user, struct str data)
{
	(void)user;
	(void)data;
}

static void linger_progress(struct stream *s)
{
	if (s->finished && s->eof) {
		stream_close(s);
	} else if (s->finished) {
		leave_by(s, &loop_leaving(s->loop)->waiting);
		timer_arm(s->linger, LINGER_MS);
	} else if (loop_now_ms(s->loop) < s->flush_until_ms) {
		timer_arm(s->linger, FLUSH_MS);
	}
}

static void linger_over(void *user)
{
	stream_close(user);
}

static const struct stream_ops linger_ops = {
	.on_data = linger_data,
	.on_eof = linger_eof,
	.on_error = linger_error,
};

void leaving_end(struct leaving *all)
{
	struct stream *s;

	while ((s = TAILQ_FIRST(&all->waiting)) || (s = TAILQ_FIRST(&all->sending)))
		stream_close(s);
}

void stream_close_flushed(struct stream *s)
{
	if (!s)
		return;

	struct leaving *all = loop_leaving(s->loop);

	if (all->n >= all->max)
		stream_close(TAILQ_EMPTY(&all->waiting) ? TAILQ_FIRST(&all->sending) : TAILQ_FIRST(&all->waiting));
	stream_rebind(s, &linger_ops, s);
	stream_share(s, NULL);
	s->linger = timer_new(s->loop, linger_over, s);
	s->flush_until_ms = loop_now_ms(s->loop) + FLUSH_TOTAL_MS;
	stream_finish(s);
	if (s->error || s->dead || !s->linger) {
		stream_close(s);
		return;
	}
	leave_by(s, &all->sending);
	stream_read(s, true);
	linger_progress(s);
}
