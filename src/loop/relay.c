/* SPDX-License-Identifier: Apache-2.0 */
/* relay: bytes in both directions. */
#include "loop/relay.h"

#include "base/fd.h"
#include "loop/stream.h"

static void on_data(void *user, struct str data)
{
	struct relay_side *from = user;
	struct relay *r = from->r;

	if (r->ops->on_bytes)
		r->ops->on_bytes(r->user, from == &r->side[0], data.n);
	stream_write(from->other->s, data);
	if (stream_queued(from->other->s) > STREAM_HIGH)
		stream_read(from->s, false);
}

static void on_drain(void *user)
{
	struct relay_side *to = user;

	if (!to->other->eof)
		stream_read(to->other->s, true);
}

static void on_eof(void *user)
{
	struct relay_side *from = user;
	struct relay *r = from->r;

	from->eof = true;
	if (!from->other->eof) {
		stream_finish(from->other->s);
		return;
	}
	for (size_t i = 0; i < 2; i++)
		stream_close_flushed(take_ptr(&r->side[i].s));
	r->ops->on_over(r->user);
}

static void on_error(void *user, int no)
{
	struct relay *r = ((struct relay_side *)user)->r;

	(void)no;
	relay_break(r);
	r->ops->on_over(r->user);
}

static const struct stream_ops side_ops = { .on_data = on_data,
	.on_eof = on_eof,
	.on_drain = on_drain,
	.on_error = on_error };

void relay_begin(struct relay *r, struct stream *first, struct str early_first, struct stream *second,
    struct str early_second, const struct relay_ops *ops, void *user)
{
	*r = (struct relay) { .ops = ops, .user = user };
	for (size_t i = 0; i < 2; i++)
		r->side[i] = (struct relay_side) { .r = r, .other = &r->side[1 - i] };
	r->side[0].s = first;
	r->side[1].s = second;
	for (size_t i = 0; i < 2; i++)
		stream_rebind(r->side[i].s, &side_ops, &r->side[i]);
	stream_write(r->side[1].s, early_first);
	stream_write(r->side[0].s, early_second);
	for (size_t i = 0; i < 2; i++)
		stream_read(r->side[i].s, true);
}

void relay_break(struct relay *r)
{
	for (size_t i = 0; i < 2; i++)
		stream_reset(take_ptr(&r->side[i].s));
}
