/* SPDX-License-Identifier: Apache-2.0 */
/* stream_move: leaving a loop for that of another thread. stream_enter() is in stream.c. */
#include "base/fd.h"
#include "loop/loop.h"
#include "loop/stream.h"
#include "loop/stream_impl.h"

bool stream_may_move(const struct stream *s)
{
	return s->watch && !s->linger && !s->error && !s->dead && !s->eof && !s->end_held && !s->finishing && !s->to &&
	    !s->from && s->held.n == 0;
}

void stream_leave(struct stream *s)
{
	stream_push(s);
	stream_rebind(s, &stream_unowned, NULL);
	share_join(&s->member, NULL);
	watch_free(take_ptr(&s->watch));
	s->events = s->ready = 0;
	s->loop = NULL;
}

void stream_free(struct stream *s)
{
	fd_close(take_fd(&s->fd));
	stream_gone(s);
}
