/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/hold: one timer per delayed answer; the penalties limit their number per address. */
#include "front/api/hold.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "front/account/metrics.h"
#include "front/account/penalty.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/api/routes.h"
#include "front/front.h"
#include "front/proxy/error.h"
#include "front/record/audit_acts.h"
#include "front/util/mem.h"
#include "front/util/request_id.h"
#include "http/server.h"
#include "loop/loop.h"

struct held {
	LIST_ENTRY(held) link;
	struct front *front;
	struct req *r;       /* a request to the API, */
	struct http_req *rq; /* or one to envd */
	struct timer *timer;
	struct penalty_addr from;
	char text[128];
};

static void held_free(struct held *h)
{
	LIST_REMOVE(h, link);
	penalty_over(h->front->account.penalties, &h->from);
	timer_free(h->timer);
	if (h->r)
		req_unref(h->r);
	else
		h->rq->ops = NULL;
	free(h);
}

static void on_time(void *user)
{
	struct held *h = user;
	struct http_req *rq = h->rq;
	char text[sizeof h->text];

	memcpy(text, h->text, sizeof text);
	if (h->r)
		reply_error(h->r, 401, "%s", text);
	held_free(h);
	if (rq)
		proxy_envd_error(rq, 401, text);
}

static void on_close(struct http_req *rq, bool lost)
{
	(void)lost;
	held_free(rq->user);
}

static const struct http_req_ops held_ops = { .on_close = on_close };

void peer_text(const struct http_req *rq, char ret[PEER_TEXT_SIZE])
{
	struct sockaddr_storage a = { 0 };
	const void *raw;

	if (rq)
		(void)http_peer(rq, &a);
	raw = a.ss_family == AF_INET6 ? (const void *)&((const struct sockaddr_in6 *)&a)->sin6_addr
				      : (const void *)&((const struct sockaddr_in *)&a)->sin_addr;
	if ((a.ss_family != AF_INET && a.ss_family != AF_INET6) || !inet_ntop(a.ss_family, raw, ret, PEER_TEXT_SIZE))
		(void)snprintf(ret, PEER_TEXT_SIZE, "unknown");
}

static struct held *hold(struct front *f, const struct penalty_addr *from, const char *text, int ms)
{
	struct held *h = must_alloc(sizeof *h);

	h->timer = timer_new(f->link.loop, on_time, h);
	if (!h->timer) {
		free(h);
		return NULL;
	}
	h->front = f;
	h->from = *from;
	(void)str_copy(h->text, sizeof h->text, str_of(text));
	LIST_INSERT_HEAD(&f->api.held, h, link);
	timer_arm(h->timer, (uint64_t)ms);
	return h;
}

/* Returns the delay of the answer in ms; -1: too many answers are delayed already. */
static int count_mistake(struct front *f, const struct http_req *rq, struct penalty_addr *from)
{
	struct sockaddr_storage peer = { 0 };

	(void)http_peer(rq, &peer);
	penalty_addr(&peer, from);
	f->account.metrics->auth_failures++;
	return penalty_wrong(f->account.penalties, from, clock_mono_ms());
}

void hold_wrong_key(struct req *r, const char *text)
{
	struct front *f = r->front;
	struct penalty_addr from;
	struct held *h;
	char where[PEER_TEXT_SIZE];
	int ms = count_mistake(f, r->http, &from);

	peer_text(r->http, where);
	audit_auth_failed(r, text);
	if (ms < 0) { /* not logged, so that a flood of requests does not flood the log */
		r->is_rate = true;
		reply_json(r, 429, json_pack("{s:i,s:s}", "code", 429, "message", "too many requests with a wrong key"),
		    "Retry-After: 2\r\n");
		return;
	}
	log_warn("authentication failed", "request=%s from=%s route=%s why='%s' delay_ms=%d", r->id, where,
	    r->route->on.pattern, text, ms);
	h = ms > 0 ? hold(f, &from, text, ms) : NULL;
	if (h)
		h->r = req_ref(r);
	else
		reply_error(r, 401, "%s", text);
}

void hold_wrong_signature(struct front *f, struct http_req *rq, const char *text)
{
	struct penalty_addr from;
	struct held *h;
	char where[PEER_TEXT_SIZE], request[REQUEST_ID_SIZE];
	int ms = count_mistake(f, rq, &from);

	request_id(rq, request);
	peer_text(rq, where);
	audit_signature(f, rq, request, text);
	if (ms < 0) {
		proxy_envd_error(rq, 429, "too many requests with a wrong signature");
		return;
	}
	log_warn("authentication failed", "request=%s from=%s route=/files why='%s' delay_ms=%d", request, where, text,
	    ms);
	h = ms > 0 ? hold(f, &from, text, ms) : NULL;
	if (!h) {
		proxy_envd_error(rq, 401, text);
		return;
	}
	h->rq = rq;
	rq->ops = &held_ops;
	rq->user = h;
}

void hold_end_all(struct front *f)
{
	while (LIST_FIRST(&f->api.held))
		held_free(LIST_FIRST(&f->api.held));
}
