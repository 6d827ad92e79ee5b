/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/lifecycle: timeout, connect, pause and resume. */
#include <stdlib.h>

#include "base/fd.h"
#include "front/account/quota.h"
#include "front/api/api.h"
#include "front/api/handlers.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/api/sandboxes.h"
#include "front/link/init_call.h"
#include "front/link/links.h"
#include "front/link/warden_link.h"
#include "front/sandbox/life.h"
#include "front/sandbox/pause.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/spec.h"
#include "front/util/mem.h"
#include "http/json.h"

#define REFRESH_DEFAULT_S 15
#define REFRESH_MAX_S 3600
#define RESUME_DEFAULT_S 15
#define CONNECT_V2_DEFAULT_S 300
#define HEALTH_WAIT_MS 5000

static void reply_gone(struct req *r)
{
	reply_no_sandbox(r, str_of(r->param));
}

/* Parses the field `timeout`; on failure sends 400. */
static int read_timeout(struct req *r, const json_t *body, int64_t min, int64_t fallback, uint32_t *ret)
{
	int64_t s = fallback;
	bool given;
	struct err e;

	if (field_int(body, "timeout", min, r->api->link->opt.max_timeout_s, &s, &given, &e) < 0) {
		reply_err(r, &e);
		return -EINVAL;
	}
	if (!given && fallback < 0) {
		reply_error(r, 400, "field 'timeout' is required");
		return -EINVAL;
	}
	*ret = (uint32_t)(s < r->api->link->opt.max_timeout_s ? s : r->api->link->opt.max_timeout_s);
	return 0;
}

/* Parses the field `memory`: false saves only the disk, or boots from it. On failure sends 400. */
static int read_memory(struct req *r, const json_t *body, bool *ret)
{
	struct err e;

	*ret = true;
	if (json_get_bool(body, "memory", ret, &e) == 0)
		return 0;
	reply_err(r, &e);
	return -EINVAL;
}

void api_timeout(struct req *r)
{
	struct sandbox *sb = req_sandbox(r);
	autojson json_t *body = sb ? req_json(r, false) : NULL;
	uint32_t timeout_s;

	if (!body || read_timeout(r, body, 0, -1, &timeout_s) < 0)
		return;
	if (sb->state == SANDBOX_RUNNING) {
		sandbox_by(sb, r->id);
		sandbox_set_timeout(sb, timeout_s, false);
		reply_empty(r, 204);
	} else if (sb->state == SANDBOX_SAVING) {
		req_again(r, sb, api_timeout);
	} else if (sb->state == SANDBOX_PAUSED) {
		reply_error(r, 404, "sandbox '%s' is not running", sb->id);
	} else {
		reply_error(r, 409, "sandbox '%s' is being paused or resumed", sb->id);
	}
}

void api_refresh(struct req *r)
{
	struct sandbox *sb = req_sandbox(r);
	autojson json_t *body = sb ? req_json(r, true) : NULL;
	int64_t s = REFRESH_DEFAULT_S;
	bool given;
	struct err e;

	if (!body)
		return;
	if (field_int(body, "duration", 0, REFRESH_MAX_S, &s, &given, &e) < 0) {
		reply_err(r, &e);
	} else if (sb->state == SANDBOX_SAVING) {
		req_again(r, sb, api_refresh);
	} else if (sb->state != SANDBOX_RUNNING) {
		reply_error(r, 404, "sandbox '%s' is not running", sb->id);
	} else {
		sandbox_by(sb, r->id);
		sandbox_set_timeout(sb, (uint32_t)(s < REFRESH_DEFAULT_S ? REFRESH_DEFAULT_S : s), true);
		reply_empty(r, 204);
	}
}

/* connect_any() has checked both fields. */
static uint32_t connect_timeout(struct req *r, bool *ret_memory)
{
	autojson json_t *body = json_loadb(r->body.p ? r->body.p : "", r->body.n, 0, NULL);
	const json_t *t = json_object_get(body, "timeout");

	*ret_memory = !json_is_false(json_object_get(body, "memory"));
	return json_is_integer(t) ? (uint32_t)json_integer_value(t) : CONNECT_V2_DEFAULT_S;
}

static void resumed(struct req *r, struct sandbox *sb)
{
	if (sb->state == SANDBOX_RUNNING)
		reply_json(r, 201, sandbox_json(r, sb), NULL);
	else if (sb->state == SANDBOX_PAUSED)
		reply_err(r, &sb->fail);
	else
		reply_gone(r);
}

/* While it is pausing or resuming: tries again afterwards. */
static void connect_to(struct req *r, struct sandbox *sb)
{
	bool memory;
	uint32_t timeout_s = connect_timeout(r, &memory);
	struct quota_hit hit;

	switch (sb->state) {
	case SANDBOX_RUNNING:
		sandbox_by(sb, r->id);
		sandbox_set_timeout(sb, timeout_s, true);
		reply_json(r, 200, sandbox_json(r, sb), NULL);
		break;
	case SANDBOX_PAUSED:
		if (warden_silent(r->api->link->warden)) {
			reply_away(r);
			break;
		}
		if (quota_check_resume(r->api->account, sb->team, sb->key, &hit) < 0) {
			reply_quota(r, &hit);
			break;
		}
		sandbox_by(sb, r->id);
		req_wait(r, sb, resumed);
		sandbox_resume(sb, timeout_s, memory);
		break;
	case SANDBOX_PAUSING:
	case SANDBOX_RESUMING:
	case SANDBOX_SAVING:
		req_wait(r, sb, connect_to);
		break;
	default:
		reply_gone(r);
	}
}

static void connect_any(struct req *r, int64_t fallback)
{
	autojson json_t *body = req_json(r, fallback >= 0);
	uint32_t timeout_s;
	bool memory;

	if (!body || read_timeout(r, body, 0, fallback, &timeout_s) < 0 || read_memory(r, body, &memory) < 0)
		return;

	struct sandbox *sb = req_sandbox(r);

	if (!sb)
		return;
	connect_to(r, sb);
}

void api_connect_v1(struct req *r)
{
	connect_any(r, -1);
}

void api_connect_v2(struct req *r)
{
	connect_any(r, CONNECT_V2_DEFAULT_S);
}

static void paused(struct req *r, struct sandbox *sb)
{
	if (sb->state == SANDBOX_PAUSED)
		reply_empty(r, 204);
	else if (sb->state == SANDBOX_RUNNING && sb->fail.no == ENOTSUP)
		reply_json(r, 400,
		    json_pack("{s:i,s:s,s:s}", "code", 400, "message", sb->fail.text, "error_code",
			"memory_false_unsupported"),
		    NULL);
	else if (sb->state == SANDBOX_RUNNING)
		reply_error(r, 503, "%s", sb->fail.no ? sb->fail.text : "sandbox was resumed at once");
	else
		reply_gone(r);
}

static void pause_now(struct req *r, struct sandbox *sb, bool memory)
{
	if (sandbox_being_saved(sb)) {
		req_again(r, sb, api_pause); /* the snapshot in progress is finished first */
	} else if (sb->state == SANDBOX_RUNNING) {
		sandbox_by(sb, r->id);
		req_wait(r, sb, paused);
		sandbox_pause(sb, memory);
	} else if (sb->state == SANDBOX_PAUSING) {
		req_wait(r, sb, paused); /* a pause is in progress already: the result is the same */
	} else if (sb->state == SANDBOX_PAUSED || sb->state == SANDBOX_RESUMING) {
		reply_error(r, 409, "sandbox '%s' is %s", sb->id,
		    sb->state == SANDBOX_RESUMING ? "being resumed" : "already paused");
	} else {
		reply_gone(r);
	}
}

struct check {
	struct req *r;
	struct sandbox *sb;
	bool memory;
};

static void on_health(void *user, const struct init_result *re)
{
	struct check *ck = user;

	fd_close(re->fd);
	if (re->no || re->status < 200 || re->status > 299)
		reply_error(ck->r, 503, "sandbox '%s' is not paused: its agent does not answer", ck->sb->id);
	else
		pause_now(ck->r, ck->sb, ck->memory);
	sandbox_unref(ck->sb);
	req_unref(ck->r);
	free(ck);
}

/* Checks first that init still answers: what is saved should work. */
static void pause_if_healthy(struct req *r, struct sandbox *sb, bool memory)
{
	struct init_request rq = { .id = sb->id,
		.request = r->id,
		.method = "GET",
		.path = "/health",
		.fd = -1,
		.wait_ms = HEALTH_WAIT_MS };
	struct check *ck = must_alloc(sizeof *ck);

	*ck = (struct check) { req_ref(r), sandbox_ref(sb), memory };
	(void)init_call_new(r->api->link, &rq, on_health, ck);
}

void api_pause(struct req *r)
{
	struct sandbox *sb = req_sandbox(r);
	autojson json_t *body = sb ? req_json(r, true) : NULL;
	bool memory, healthy = false;
	struct err e = ERR_INIT;

	if (!body || read_memory(r, body, &memory) < 0)
		return;
	if (json_get_bool(body, "requireHealthyGuest", &healthy, &e) < 0)
		reply_err(r, &e);
	else if (healthy && sb->state == SANDBOX_RUNNING)
		pause_if_healthy(r, sb, memory);
	else
		pause_now(r, sb, memory);
}

/* Answers a resume that arrived during another change. */
static void resume_after(struct req *r, struct sandbox *sb)
{
	autojson json_t *body = sb->state == SANDBOX_PAUSED ? req_json(r, true) : NULL;
	struct quota_hit hit;
	uint32_t timeout_s;
	bool memory;

	if (!body) {
		resumed(r, sb);
	} else if (quota_check_resume(r->api->account, sb->team, sb->key, &hit) < 0) {
		reply_quota(r, &hit);
	} else if (read_timeout(r, body, 1, RESUME_DEFAULT_S, &timeout_s) == 0 && read_memory(r, body, &memory) == 0) {
		sandbox_by(sb, r->id);
		req_wait(r, sb, resumed);
		sandbox_resume(sb, timeout_s, memory);
	}
}

void api_resume(struct req *r)
{
	struct sandbox *sb = req_sandbox(r);
	autojson json_t *body = sb ? req_json(r, true) : NULL;
	bool auto_pause = false, memory;
	uint32_t timeout_s;
	struct err e;

	if (!body || read_timeout(r, body, 1, RESUME_DEFAULT_S, &timeout_s) < 0 || read_memory(r, body, &memory) < 0)
		return;
	if (json_get_bool(body, "autoPause", &auto_pause, &e) < 0) {
		reply_err(r, &e);
	} else if (sb->state == SANDBOX_RUNNING || sb->state == SANDBOX_SAVING) {
		reply_error(r, 409, "sandbox '%s' is already running%s", sb->id,
		    sandbox_being_saved(sb) ? ", a snapshot of it is being made" : "");
	} else {
		if (auto_pause)
			sb->spec.flags |= SPEC_AUTO_PAUSE;
		if (sb->state == SANDBOX_PAUSED)
			resume_after(r, sb);
		else
			req_wait(r, sb, resume_after); /* PAUSING, which clients see as paused, or RESUMING */
	}
}
