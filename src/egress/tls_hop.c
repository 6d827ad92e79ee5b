/* SPDX-License-Identifier: Apache-2.0 */
/* tls_hop: two streams with back-pressure in both directions. */
#include "egress/tls_hop.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "egress/dial.h"
#include "egress/upstream_tls.h"
#include "http/tls_filter.h"
#include "ipc/rules.h"
#include "loop/loop.h"
#include "loop/stream.h"

struct hop {
	struct stream *near, *wire;
	struct timer *timer;
	bool ready; /* the handshake is complete */
	bool near_ended, wire_ended;
	unsigned ticks;
};

static void hop_free(struct hop *h)
{
	stream_close(h->near);
	stream_close(h->wire);
	timer_free(h->timer);
	free(h);
}

/* Flushes and closes both streams. */
static void hop_end(struct hop *h)
{
	stream_close_flushed(take_ptr(&h->near));
	stream_close_flushed(take_ptr(&h->wire));
	hop_free(h);
}

/* Whether the local peer has closed its socket completely, not only for writing. While reading is off, no read
 * shows this. */
static bool is_left(const struct hop *h)
{
	struct pollfd p = { .fd = stream_fd(h->near) };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP);
}

static void on_tick(void *user)
{
	struct hop *h = user;

	if (is_left(h) || (!h->ready && ++h->ticks >= TLS_HOP_TICKS))
		hop_end(h);
	else
		timer_arm(h->timer, TLS_HOP_TICK_MS);
}

static void pass_on(struct stream *from, struct stream *to, struct str data)
{
	stream_write(to, data);
	if (stream_queued(to) > STREAM_HIGH)
		stream_read(from, false);
}

static void on_near_data(void *user, struct str data)
{
	struct hop *h = user;

	pass_on(h->near, h->wire, data);
}

static void on_wire_data(void *user, struct str data)
{
	struct hop *h = user;

	pass_on(h->wire, h->near, data);
}

static void on_near_drain(void *user)
{
	struct hop *h = user;

	if (!h->wire_ended)
		stream_read(h->wire, true);
}

static void on_wire_drain(void *user)
{
	struct hop *h = user;

	if (h->ready && !h->near_ended)
		stream_read(h->near, true);
}

static void on_near_eof(void *user)
{
	struct hop *h = user;

	h->near_ended = true;
	if (h->wire_ended || is_left(h))
		hop_end(h);
	else
		stream_finish(h->wire);
}

static void on_wire_eof(void *user)
{
	struct hop *h = user;

	h->wire_ended = true;
	if (h->near_ended || !h->ready)
		hop_end(h);
	else
		stream_finish(h->near);
}

static void on_error(void *user, int no)
{
	(void)no;
	hop_free(user);
}

static void on_wire_ready(void *user)
{
	struct hop *h = user;

	h->ready = true;
	stream_read(h->near, true);
}

static const struct stream_ops near_ops = { .on_data = on_near_data,
	.on_eof = on_near_eof,
	.on_drain = on_near_drain,
	.on_error = on_error };
static const struct stream_ops wire_ops = {
	.on_data = on_wire_data,
	.on_eof = on_wire_eof,
	.on_drain = on_wire_drain,
	.on_error = on_error,
	.on_ready = on_wire_ready,
};

/* Owns both fds, also on failure. */
static struct hop *hop_new(struct loop *l, int near, int wire, SSL *ssl)
{
	struct stream_filter *filter = ssl ? tls_filter_new(ssl, STR_NULL, NULL, NULL) : NULL;
	struct hop *h = filter ? calloc(1, sizeof *h) : NULL;

	if (!h) {
		if (filter)
			filter->ops->free(filter);
		fd_close(near);
		fd_close(wire);
		return NULL;
	}
	h->near = stream_new(l, near, &near_ops, h);
	h->wire = stream_new(l, wire, &wire_ops, h);
	h->timer = timer_new(l, on_tick, h);
	if (h->wire)
		stream_filter(h->wire, filter);
	else
		filter->ops->free(filter);
	if (!h->near || !h->wire || !h->timer) {
		hop_free(h);
		return NULL;
	}
	return h;
}

int tls_hop(struct loop *l, int fd, const struct rules_socks *how)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
		int no = errno;

		fd_close(fd);
		return -no;
	}
	struct hop *h = hop_new(l, pair[1], fd,
	    upstream_tls_proxy(how->server_name[0] ? how->server_name : how->host, how->ca));

	if (!h) {
		fd_close(pair[0]);
		return -ENOMEM;
	}
	dial_keep_alive(fd);
	timer_arm(h->timer, TLS_HOP_TICK_MS);
	stream_read(h->wire, true);
	stream_write(h->wire, STR_NULL); /* starts the handshake */
	return pair[0];
}
