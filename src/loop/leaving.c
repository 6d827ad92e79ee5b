/* SPDX-License-Identifier: Apache-2.0 */
/* leaving: sends what a closed stream still holds.
 *
 * After stream_close_flushed() the stream has no owner any more. It sends its queue, half-closes, and reads until
 * the peer closes, too: closing with unread input would reset the connection, and the reset could overtake the
 * answer that tells the peer why. */
#include "base/fd.h"
#include "loop/loop.h"
#include "loop/stream.h"
#include "loop/stream_impl.h"
#include "loop/streams.h"

#define FLUSH_MS 30000        /* longest time without progress, */
#define FLUSH_TOTAL_MS 600000 /* longest time until the queue is empty, */
#define LINGER_MS 2000        /* and longest wait for the peer to close, too */

void stream_leave_by(struct stream *s, struct stream_list *list)
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

void stream_linger_progress(struct stream *s)
{
	if (s->finished && s->eof) {
		stream_close(s);
	} else if (s->finished) {
		stream_leave_by(s, &loop_leaving(s->loop)->waiting);
		timer_arm(s->linger, LINGER_MS);
	} else if (loop_now_ms(s->loop) < s->flush_until_ms) {
		timer_arm(s->linger, FLUSH_MS);
	}
}

static void linger_over(void *user)
{
	stream_close(user);
}

const struct stream_ops stream_linger_ops = {
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
	stream_rebind(s, &stream_linger_ops, s);
	stream_share(s, NULL);
	s->linger = timer_new(s->loop, linger_over, s);
	s->flush_until_ms = loop_now_ms(s->loop) + FLUSH_TOTAL_MS;
	stream_finish(s);
	if (s->error || s->dead || !s->linger) {
		stream_close(s);
		return;
	}
	stream_leave_by(s, &all->sending);
	stream_read(s, true);
	stream_linger_progress(s);
}
