/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/hold: one timer per delayed refusal; the penalties limit their number per address. */
#include "front/account/hold.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/str.h"
#include "front/account/accounts.h"
#include "front/account/metrics.h"
#include "front/link/links.h"
#include "front/util/mem.h"
#include "http/server.h"
#include "loop/loop.h"

struct held {
	LIST_ENTRY(held) link;
	struct accounts *account;
	struct timer *timer;
	struct penalty_addr from;
	char text[256];
	const struct hold_ops *ops;
	void *user;
};

void hold_cancel(struct held *h)
{
	LIST_REMOVE(h, link);
	penalty_over(h->account->penalties, &h->from);
	timer_free(h->timer);
	free(h);
}

static void on_time(void *user)
{
	struct held *h = user;
	struct held was = *h;

	hold_cancel(h);
	was.ops->refuse(was.user, was.text);
}

int hold_count(struct accounts *a, const struct http_req *rq, struct penalty_addr *ret_from)
{
	struct sockaddr_storage peer = { 0 };

	(void)http_peer(rq, &peer);
	penalty_addr(&peer, ret_from);
	a->metrics->auth_failures++;
	return penalty_wrong(a->penalties, ret_from, clock_mono_ms());
}

struct held *hold_refusal(struct accounts *a, const struct penalty_addr *from, const char *text, int ms,
    const struct hold_ops *ops, void *user)
{
	struct held *h = must_alloc(sizeof *h);

	h->timer = timer_new(a->link->loop, on_time, h);
	if (!h->timer) {
		free(h);
		return NULL;
	}
	h->account = a;
	h->from = *from;
	(void)str_copy(h->text, sizeof h->text, str_of(text));
	h->ops = ops;
	h->user = user;
	LIST_INSERT_HEAD(&a->held, h, link);
	timer_arm(h->timer, (uint64_t)ms);
	return h;
}

void hold_end_all(struct accounts *a)
{
	struct held *h;

	while ((h = LIST_FIRST(&a->held))) {
		struct held was = *h;

		hold_cancel(h);
		was.ops->drop(was.user);
	}
}
