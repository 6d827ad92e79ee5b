/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/reply: status, JSON, CORS headers and the request id. */
#include "front/api/reply.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "front/account/quota.h"
#include "front/api/api.h"
#include "front/api/audit_request.h"
#include "front/api/req.h"
#include "front/link/links.h"
#include "front/util/cors.h"
#include "http/json.h"
#include "http/server.h"
#include "store/sandboxes.h"

#define REPLY_MAX (8 * 1024 * 1024) /* a page of 100 sandboxes with large metadata */
#define HEADERS_MAX 2048

static void send_it(struct req *r, int status, const char *type, const char *extra, struct str body)
{
	autobuf struct buf headers = BUF_INIT(HEADERS_MAX);

	if (r->status)
		return;
	r->status = status;
	audit_request(r); /* before the client learns of the result */
	if (!r->http)
		return;
	buf_z(&headers, CORS_API_HEADERS);
	buf_fmt(&headers, "X-Request-Id: %s\r\n", r->id);
	if (r->caller.rate.limit)
		buf_fmt(&headers, "RateLimit-Limit: %u\r\nRateLimit-Remaining: %u\r\nRateLimit-Reset: %u\r\n",
		    r->caller.rate.limit, r->caller.rate.remaining, r->caller.rate.reset_s);
	if (extra)
		buf_z(&headers, extra);
	http_respond(r->http, status, type, buf_cstr(&headers), body);
}

void reply_empty(struct req *r, int status)
{
	send_it(r, status, NULL, NULL, STR_NULL);
}

void reply_text(struct req *r, const char *type, struct str text)
{
	send_it(r, 200, type, NULL, text);
}

void reply_text_with(struct req *r, const char *type, struct str text, const char *headers)
{
	send_it(r, 200, type, headers, text);
}

void reply_json_text(struct req *r, int status, struct str text, const char *headers)
{
	send_it(r, status, "application/json", headers, text);
}

void reply_json(struct req *r, int status, json_t *j, const char *headers)
{
	autojson json_t *own = j;
	autobuf struct buf out = BUF_INIT(REPLY_MAX);

	json_put(&out, own);
	if (out.bad)
		send_it(r, 500, "application/json", NULL,
		    STR_LIT("{\"code\":500,\"message\":\"answer is too large\"}"));
	else
		send_it(r, status, "application/json", headers, buf_view(&out));
}

static void send_error(struct req *r, int status, const char *text, const char *headers)
{
	/* It may contain text of the client: truncated or invalid UTF-8 is no valid JSON. */
	json_t *j = json_pack("{s:i,s:s}", "code", status, "message", text);

	reply_json(r, status, j ? j : json_pack("{s:i,s:s}", "code", status, "message", "request refused"), headers);
}

void reply_error(struct req *r, int status, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	send_error(r, status, text, NULL);
}

void reply_away(struct req *r)
{
	send_error(r, 503,
	    "the server cannot reach its sandboxes at the moment: the warden does not answer. Nothing was done; try "
	    "again later",
	    "Retry-After: 5\r\n");
}

void reply_late(struct req *r)
{
	send_error(r, 503,
	    "the server cannot reach its sandboxes at the moment: the warden does not answer. Whether this was done "
	    "shows when it is back; try again later",
	    "Retry-After: 5\r\n");
}

static int status_of(int no)
{
	switch (no) {
	case EINVAL:
		return 400;
	case EPERM:
		return 403;
	case ENOENT:
		return 404;
	case EEXIST:
	case ESTALE: /* a file of a volume has changed, or the memory of a paused sandbox is lost */
		return 409;
	case EMFILE: /* no room for more sandboxes */
	case EDQUOT:
		return 429;
	case EAGAIN:
	case EBUSY:
	case ENOSPC:
	case EROFS: /* of the state directory or the storage */
	case ESHUTDOWN:
		return 503;
	case ETIMEDOUT:
		return 504;
	default:
		return 500;
	}
}

void reply_no_sandbox(struct req *r, struct str id)
{
	char own[ID_SIZE] = "", reason[END_REASON_SIZE], at[CLOCK_RFC3339_SIZE];
	uint64_t ended_ms;
	struct err e = ERR_INIT;

	/* The owner may learn what became of it. */
	if (!str_copy(own, sizeof own, id) ||
	    sandboxes_ended(r->api->link->store, own, r->caller.team, &ended_ms, reason, &e) < 0) {
		reply_error(r, 404, "sandbox \"%.*s\" doesn't exist or you don't have access to it",
		    id.n < 64 ? (int)id.n : 64, id.p);
		return;
	}
	clock_rfc3339(ended_ms, at);
	reply_error(r, 404, "sandbox \"%s\" doesn't exist or you don't have access to it: it ended at %s (%s)", own, at,
	    reason[0] ? reason : "unknown");
}

void reply_err(struct req *r, const struct err *e)
{
	/* Newer clients retry a 429 by themselves, but a quota would still be exhausted. */
	send_error(r, status_of(e->no), e->text, e->no == EDQUOT ? "Should-Retry: false\r\n" : NULL);
}

void reply_quota(struct req *r, const struct quota_hit *h)
{
	char header[64];
	struct err e;

	quota_text(h, &e);
	json_t *j = json_pack("{s:i,s:s,s:{s:s,s:s,s:I,s:I,s:o}}", "code", 429, "message", e.text, "quota", "scope",
	    h->scope, "what", h->what, "limit", (json_int_t)h->limit, "used", (json_int_t)h->used, "retryAfterSeconds",
	    h->retry_s ? json_integer(h->retry_s) : json_null());

	/* Clients wait that long and retry by themselves: only short delays are sent. */
	if (h->retry_s && h->retry_s <= QUOTA_MINUTE)
		(void)snprintf(header, sizeof header, "Retry-After: %u\r\n", h->retry_s);
	else
		(void)snprintf(header, sizeof header, "Should-Retry: false\r\n");
	log_info("request refused: a quota is exhausted", "request=%s scope=%s what=%s limit=%lld", r->id, h->scope,
	    h->what, (long long)h->limit);
	reply_json(r, 429, j, header);
}
