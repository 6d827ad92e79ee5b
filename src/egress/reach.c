/* SPDX-License-Identifier: Apache-2.0 */
/* reach: resolves, dials, and negotiates with the SOCKS proxy. */
#include "egress/reach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/inet.h"
#include "egress/dial.h"
#include "egress/resolve.h"
#include "egress/socks.h"
#include "egress/tls_hop.h"
#include "loop/loop.h"

struct reach {
	struct reach_spec sp;
	char name[POLICY_NAME_SIZE];
	struct rules_socks socks; /* host "": none */
	struct resolve *resolve;
	struct dial *dial;
	struct socks *asking;
	struct timer *failed; /* reports a failure from the loop */
	int no;
	reach_fn *fn;
	void *user;
};

void reach_cancel(struct reach *r)
{
	if (!r)
		return;
	resolve_cancel(r->resolve);
	dial_cancel(r->dial);
	socks_cancel(r->asking);
	timer_free(r->failed);
	free(r->socks.ca);
	explicit_bzero(&r->socks, sizeof r->socks);
	free(r);
}

static void finish(struct reach *r, int fd)
{
	reach_fn *fn = r->fn;
	void *user = r->user;

	reach_cancel(r);
	fn(user, fd);
}

static void on_failed(void *user)
{
	struct reach *r = user;

	finish(r, r->no);
}

static void fail_later(struct reach *r, int no)
{
	r->no = no;
	timer_arm(r->failed, 0);
}

static void on_socks(void *user, int fd)
{
	struct reach *r = user;

	r->asking = NULL;
	finish(r, fd);
}

static void on_dialled(void *user, int fd)
{
	struct reach *r = user;

	r->dial = NULL;
	if (fd < 0 || !r->socks.host[0]) {
		finish(r, fd);
		return;
	}
	if (r->socks.tls)
		fd = tls_hop(r->sp.loop, fd, &r->socks);
	if (fd < 0) {
		finish(r, fd);
		return;
	}
	r->asking = socks_new(r->sp.loop, fd, &r->socks, r->name, r->sp.ip, r->sp.port, on_socks, r);
	if (!r->asking)
		finish(r, -ENOMEM);
}

static void dial(struct reach *r, const uint32_t *addrs, size_t n)
{
	uint16_t port = r->socks.host[0] ? r->socks.port : r->sp.port;
	int no = egress_dial_new(r->sp.loop, addrs, n, port, on_dialled, r, &r->dial);

	if (no < 0)
		fail_later(r, no);
}

static void on_resolved(void *user, const uint32_t *addrs, size_t n)
{
	struct reach *r = user;

	r->resolve = NULL;
	if (n == 0)
		fail_later(r, -ENOENT);
	else
		dial(r, addrs, n);
}

static void begin(struct reach *r)
{
	const char *host = r->socks.host[0] ? r->socks.host : r->name;
	struct inet_range ip = { r->sp.ip, 32 };

	if (host[0] && inet_parse(str_of(host), &ip) < 0) {
		int no = resolve_ask(r->sp.resolver, r->sp.client, str_of(host), on_resolved, r, &r->resolve);

		if (no < 0)
			fail_later(r, no);
		return;
	}
	dial(r, &ip.ip, 1);
}

struct reach *reach_new(const struct reach_spec *sp, reach_fn *fn, void *user)
{
	struct reach *r = calloc(1, sizeof *r);

	if (!r)
		return NULL;
	r->sp = *sp;
	r->fn = fn;
	r->user = user;
	r->failed = timer_new(sp->loop, on_failed, r);
	if (!r->failed || !str_copy(r->name, sizeof r->name, str_of(sp->name))) {
		reach_cancel(r);
		return NULL;
	}
	if (sp->socks)
		r->socks = *sp->socks;
	r->socks.ca = r->socks.ca ? strdup(r->socks.ca) : NULL;
	if (sp->socks && sp->socks->ca && !r->socks.ca) {
		reach_cancel(r);
		return NULL;
	}
	begin(r);
	return r;
}
