/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/tunnel: a relay of bytes, charged to its sandbox. */
#include "front/proxy/tunnel.h"

#include <stdlib.h>

#include "base/fd.h"
#include "front/account/accounts.h"
#include "front/account/metrics.h"
#include "front/proxy/proxies.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/util/mem.h"
#include "loop/relay.h"
#include "loop/stream.h"

struct tunnel {
	struct relay relay; /* the client first, then the port */
	struct proxies *proxies;
	struct sandbox *sb;
	struct sandbox_link link;
};

static void on_over(void *user)
{
	struct tunnel *t = user;

	sandbox_detach(&t->link);
	t->proxies->tunnels--;
	t->sb->tunnels--;
	sandbox_use_end(t->sb);
	sandbox_unref(t->sb);
	free(t);
}

static void on_bytes(void *user, bool from_client, size_t n)
{
	struct metrics *m = ((struct tunnel *)user)->sb->all->account->metrics;

	*(from_client ? &m->bytes_up : &m->bytes_down) += n;
}

static const struct relay_ops ops = { .on_bytes = on_bytes, .on_over = on_over };

static void on_broken(struct sandbox_link *l, struct sandbox *sb)
{
	struct tunnel *t = container_of(l, struct tunnel, link);

	(void)sb;
	relay_break(&t->relay);
	on_over(t);
}

void tunnel_begin(struct proxies *p, struct sandbox *sb, struct stream *client, struct str early_client,
    struct stream *port, struct str early_port)
{
	struct tunnel *t = must_alloc(sizeof *t);

	t->proxies = p;
	t->sb = sandbox_ref(sb);
	p->tunnels++;
	sb->tunnels++;
	sandbox_use_begin(sb);
	t->link.broken = on_broken;
	sandbox_attach(sb, &t->link);
	stream_share(client, &sb->share);
	stream_share(port, &sb->share);
	relay_begin(&t->relay, client, early_client, port, early_port, &ops, t);
}
