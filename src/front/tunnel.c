/* SPDX-License-Identifier: Apache-2.0 */
/* front/tunnel: two streams, each the other's reader. */
#include "front/tunnel.h"

#include <stdlib.h>

#include "base/fd.h"
#include "front/front.h"
#include "front/mem.h"
#include "front/metrics.h"
#include "front/sandbox.h"
#include "loop/stream.h"

struct side {
	struct tunnel *t;
	struct stream *s;
	struct side *other;
	bool eof;			/* it sends no more */
};

struct tunnel {
	struct side client, port;
	struct sandbox *sb;
	struct sandbox_link link;
};

static void tunnel_free(struct tunnel *t)
{
	sandbox_detach(&t->link);
	t->sb->front->tunnels--;
	sandbox_use_end(t->sb);
	sandbox_unref(t->sb);
	free(t);
}

static void on_data(void *user, struct str data)
{
	struct side *from = user;

	struct sandbox *sb = from->t->sb;

	*(from == &from->t->client ? &sb->front->metrics->bytes_up : &sb->front->metrics->bytes_down) += data.n;
	stream_write(from->other->s, data);
	if (stream_queued(from->other->s) > STREAM_HIGH)
		stream_read(from->s, false);
}

static void on_drain(void *user)
{
	struct side *to = user;

	if (!to->other->eof)
		stream_read(to->other->s, true);
}

static void on_eof(void *user)
{
	struct side *from = user;
	struct tunnel *t = from->t;

	from->eof = true;
	if (!from->other->eof) {
		stream_finish(from->other->s);
		return;
	}
	stream_close_flushed(t->client.s);
	stream_close_flushed(t->port.s);
	tunnel_free(t);
}

static void on_error(void *user, int no)
{
	struct side *from = user;
	struct tunnel *t = from->t;

	(void)no;
	stream_reset(t->client.s);
	stream_reset(t->port.s);
	tunnel_free(t);
}

static const struct stream_ops ops = { .on_data = on_data, .on_eof = on_eof, .on_drain = on_drain, .on_error = on_error };

static void on_broken(struct sandbox_link *l, struct sandbox *sb)
{
	struct tunnel *t = container_of(l, struct tunnel, link);

	(void)sb;
	stream_reset(t->client.s);
	stream_close(t->port.s);
	tunnel_free(t);
}

void tunnel_begin(struct sandbox *sb, struct stream *client, struct str early_client, int port_fd, struct str early_port)
{
	struct tunnel *t = must_alloc(sizeof *t);

	t->sb = sandbox_ref(sb);
	sb->front->tunnels++;
	sandbox_use_begin(sb);
	t->link.broken = on_broken;
	t->client = (struct side) { .t = t, .s = client, .other = &t->port };
	t->port = (struct side) { .t = t, .other = &t->client };
	stream_rebind(client, &ops, &t->client);
	t->port.s = stream_new(sb->front->loop, port_fd, &ops, &t->port);
	if (!t->port.s) {
		stream_close(t->client.s);
		tunnel_free(t);
		return;
	}
	sandbox_attach(sb, &t->link);
	stream_write(t->port.s, early_client);
	stream_write(t->client.s, early_port);
	stream_read(t->client.s, true);
	stream_read(t->port.s, true);
}
