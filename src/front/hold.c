/* SPDX-License-Identifier: Apache-2.0 */
/* front/hold: a timer per answer that waits; how many there are per address is bounded by the penalties. */
#include "front/hold.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "front/front.h"
#include "front/mem.h"
#include "front/metrics.h"
#include "front/penalty.h"
#include "front/reply.h"
#include "front/request.h"
#include "front/routes.h"
#include "front/trail_acts.h"
#include "http/server.h"
#include "loop/loop.h"

struct held {
	LIST_ENTRY(held) link;
	struct req *r;
	struct timer *timer;
	struct penalty_addr from;
	char text[128];
};

static void held_free(struct held *h)
{
	LIST_REMOVE(h, link);
	penalty_over(h->r->front->penalties, &h->from);
	timer_free(h->timer);
	req_unref(h->r);
	free(h);
}

static void on_time(void *user)
{
	struct held *h = user;

	reply_error(h->r, 401, "%s", h->text);
	held_free(h);
}

void peer_text(const struct http_req *rq, char ret[PEER_TEXT_SIZE])
{
	struct sockaddr_storage a = { 0 };
	const void *raw;

	if (rq)
		(void)http_peer(rq, &a);
	raw = a.ss_family == AF_INET6 ? (const void *)&((const struct sockaddr_in6 *)&a)->sin6_addr : (const void *)&((const struct sockaddr_in *)&a)->sin_addr;
	if ((a.ss_family != AF_INET && a.ss_family != AF_INET6) || !inet_ntop(a.ss_family, raw, ret, PEER_TEXT_SIZE))
		(void)snprintf(ret, PEER_TEXT_SIZE, "unknown");
}

static bool hold(struct req *r, const struct penalty_addr *from, const char *text, int ms)
{
	struct held *h = must_alloc(sizeof *h);

	h->timer = timer_new(r->front->loop, on_time, h);
	if (!h->timer) {
		free(h);
		return false;
	}
	h->r = req_ref(r);
	h->from = *from;
	(void)str_copy(h->text, sizeof h->text, str_of(text));
	LIST_INSERT_HEAD(&r->front->held, h, link);
	timer_arm(h->timer, (uint64_t)ms);
	return true;
}

void hold_wrong_key(struct req *r, const char *text)
{
	struct front *f = r->front;
	struct sockaddr_storage peer;
	struct penalty_addr from;
	char where[PEER_TEXT_SIZE];

	(void)http_peer(r->http, &peer);
	penalty_addr(&peer, &from);
	peer_text(r->http, where);
	f->metrics->auth_failures++;
	trail_auth_failed(r, text);

	int ms = penalty_wrong(f->penalties, &from, clock_mono_ms());

	if (ms < 0) {			/* not logged: whoever floods us must not flood the log */
		r->is_rate = true;
		reply_json(r, 429, json_pack("{s:i,s:s}", "code", 429, "message", "too many requests with a wrong key"),
			"Retry-After: 2\r\n");
		return;
	}
	log_warn("authentication failed", "request=%s from=%s route=%s why='%s' delay_ms=%d", r->id, where,
		r->route->pattern, text, ms);
	if (ms > 0 && hold(r, &from, text, ms))
		return;
	reply_error(r, 401, "%s", text);
}

void hold_end_all(struct front *f)
{
	while (LIST_FIRST(&f->held))
		held_free(LIST_FIRST(&f->held));
}
