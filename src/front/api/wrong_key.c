/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/wrong_key: records it and refuses, or lets front/account/hold.c delay the refusal. */
#include "front/api/wrong_key.h"

#include "base/log.h"
#include "front/account/hold.h"
#include "front/api/api.h"
#include "front/api/audit_request.h"
#include "front/api/reply.h"
#include "front/api/req.h"
#include "front/api/routes.h"
#include "front/util/peer.h"

static void refuse(void *user, const char *text)
{
	struct req *r = user;

	reply_error(r, 401, "%s", text);
	req_unref(r);
}

static void drop(void *user)
{
	req_unref(user);
}

static const struct hold_ops ops = { .refuse = refuse, .drop = drop };

void wrong_key(struct req *r, const char *text)
{
	struct penalty_addr from;
	char where[PEER_TEXT_SIZE];
	int ms = hold_count(r->api->account, r->http, &from);

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
	if (ms > 0 && hold_refusal(r->api->account, &from, text, ms, &ops, r))
		(void)req_ref(r);
	else
		reply_error(r, 401, "%s", text);
}
