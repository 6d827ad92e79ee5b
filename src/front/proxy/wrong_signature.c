/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/wrong_signature: records it and refuses, or lets front/account/hold.c delay the refusal. */
#include "front/proxy/wrong_signature.h"

#include "base/log.h"
#include "front/account/hold.h"
#include "front/proxy/error.h"
#include "front/proxy/proxies.h"
#include "front/record/audit_acts.h"
#include "front/sandbox/sandboxes.h"
#include "front/util/peer.h"
#include "front/util/request_id.h"
#include "http/server.h"

static void drop(void *user)
{
	struct http_req *rq = user;

	rq->ops = NULL;
}

static void refuse(void *user, const char *text)
{
	struct http_req *rq = user;

	rq->ops = NULL;
	proxy_envd_error(rq, 401, text);
}

static void on_close(struct http_req *rq, bool lost)
{
	(void)lost;
	rq->ops = NULL;
	hold_cancel(rq->user);
}

static const struct hold_ops hold_ops = { .refuse = refuse, .drop = drop };
static const struct http_req_ops req_ops = { .on_close = on_close };

void wrong_signature(struct proxies *p, struct http_req *rq, const char *text)
{
	struct penalty_addr from;
	char where[PEER_TEXT_SIZE], request[REQUEST_ID_SIZE];
	int ms = hold_count(p->account, rq, &from);

	request_id(rq, request);
	peer_text(rq, where);
	audit_signature(p->record, rq, request, text);
	if (ms < 0) {
		proxy_envd_error(rq, 429, "too many requests with a wrong signature");
		return;
	}
	log_warn("authentication failed", "request=%s from=%s route=/files why='%s' delay_ms=%d", request, where, text,
	    ms);
	struct held *h = ms > 0 ? hold_refusal(p->account, &from, text, ms, &hold_ops, rq) : NULL;

	if (!h) {
		proxy_envd_error(rq, 401, text);
		return;
	}
	rq->ops = &req_ops;
	rq->user = h;
}
