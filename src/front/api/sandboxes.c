/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/sandboxes: creates, shows and kills sandboxes. */
#include "front/api/sandboxes.h"

#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/account/accounts.h"
#include "front/account/keyring.h"
#include "front/account/limits.h"
#include "front/account/metrics.h"
#include "front/account/quota.h"
#include "front/api/api.h"
#include "front/api/handlers.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/api/team.h"
#include "front/link/links.h"
#include "front/proxy/route.h"
#include "front/sandbox/end.h"
#include "front/sandbox/life.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/spec_rules.h"
#include "front/sandbox/start.h"
#include "front/sandbox/table.h"
#include "front/sandbox/warm_pool.h"
#include "front/util/envd.h"
#include "front/util/time_json.h"
#include "http/json.h"
#include "http/server.h"
#include "store/templates.h"

#define MIB (1024 * 1024)
#define DETAIL_MAX (2 * 1024 * 1024)
#define ONCE_MAX 255
#define ONCE_CHARS "abcdefghijklmnopqrstuvwxyz0123456789-"

static json_t *text_or_null(const char *z)
{
	return z && *z ? json_string(z) : json_null();
}

/* The configured domain. If none is configured, the domain that the client has used, which may be that of an
 * unknown proxy. A client that connected by address gets null: it would prefer the answer to its own setting
 * (E2B_DOMAIN), which may be the domain of such a proxy. */
json_t *domain_json(const struct req *r)
{
	const struct front_options *o = &r->api->link->opt;
	struct str came_by = o->domain_is_default && r->http ? host_domain(r->http->host) : STR_NULL;

	return came_by.n ? json_stringn(came_by.p, came_by.n) : text_or_null(o->domain_is_default ? NULL : o->domain);
}

json_t *sandbox_json(const struct req *r, const struct sandbox *sb)
{
	json_t *j = json_pack("{s:s,s:s,s:s,s:s,s:s,s:o,s:o}", "templateID", sb->spec.tpl.id, "sandboxID", sb->id,
	    "clientID", CLIENT_ID, "envdVersion", ENVD_VERSION, "alias", sb->spec.tpl.name, "trafficAccessToken",
	    text_or_null(sb->traffic_token), "domain", domain_json(r));

	if (*sb->envd_token)
		(void)json_object_set_new(j, "envdAccessToken", json_string(sb->envd_token));
	return j;
}

/* Writes a string: without escaping if it needs none. */
static void put_text(struct buf *out, const char *z)
{
	if (!z[strspn(z, "abcdefghijklmnopqrstuvwxyz0123456789-_./")]) {
		buf_ch(out, '"');
		buf_z(out, z);
		buf_ch(out, '"');
	} else {
		autojson json_t *j = json_string(z);

		json_put(out, j);
	}
}

static void put_time(struct buf *out, const char *name, uint64_t wall_ms)
{
	char text[CLOCK_RFC3339_SIZE];

	clock_rfc3339(wall_ms, text);
	buf_z(out, name);
	buf_z(out, text);
	buf_ch(out, '"');
}

/* Writes everything but the closing brace. */
static void put_common(struct buf *out, const struct sandbox *sb)
{
	const struct msg_limits *lim = &sb->spec.limits;
	uint32_t cpus = (lim->cpu_permille + 999) / 1000;

	buf_z(out, "{\"templateID\":");
	put_text(out, sb->spec.tpl.id);
	buf_z(out, ",\"alias\":");
	put_text(out, sb->spec.tpl.name);
	buf_z(out, ",\"sandboxID\":\"");
	buf_z(out, sb->id);
	buf_z(out, "\",\"clientID\":\"" CLIENT_ID "\"");
	if (*sb->spec.parent) {
		buf_z(out, ",\"parentID\":");
		put_text(out, sb->spec.parent);
	}
	if (*sb->key) {
		buf_z(out, ",\"keyID\":");
		put_text(out, sb->key);
	}
	put_time(out, ",\"startedAt\":\"", sb->started_us / 1000);
	put_time(out, ",\"endAt\":\"", sb->end_ms);
	put_time(out, ",\"lastActivityAt\":\"", sandbox_active_ms(sb));
	buf_fmt(out, ",\"cpuCount\":%u,\"memoryMB\":%llu,\"diskSizeMB\":%llu,\"state\":\"%s\"", cpus ? cpus : 1,
	    (unsigned long long)(lim->mem_bytes / MIB), (unsigned long long)(lim->disk_bytes / MIB),
	    sandbox_state_name(sb));
	buf_fmt(out, ",\"engine\":\"%s\"", engine_kind_name(spec_engine(&sb->spec)));
	if (spec_needs(&sb->spec))
		spec_needs_put(out, &sb->spec);
	buf_z(out, ",\"envdVersion\":\"" ENVD_VERSION "\",\"volumeMounts\":");
	if (sb->spec.volumes) {
		autojson json_t *volumes = spec_volumes_shown(&sb->spec);

		json_put(out, volumes);
	} else {
		buf_z(out, "[]");
	}
	buf_z(out, ",\"metadata\":");
	if (sb->spec.metadata)
		json_put(out, sb->spec.metadata);
	else
		buf_z(out, "{}");
}

void sandbox_put_listed(struct buf *out, const struct sandbox *sb, bool with_team)
{
	put_common(out, sb);
	if (with_team) {
		buf_z(out, ",\"teamID\":");
		put_text(out, sb->team);
	}
	buf_ch(out, '}');
}

static void put_detail(struct buf *out, const struct req *r, const struct sandbox *sb)
{
	uint32_t fl = sb->spec.flags;
	autojson json_t *more = json_pack("{s:o,s:o,s:I,s:o,s:{s:b,s:s}}", "allowInternetAccess",
	    fl & SPEC_INTERNET_ASKED ? json_boolean(!(fl & SPEC_INTERNET_FALSE)) : json_null(), "createdAt",
	    time_json(sb->created_ms), "timeoutSeconds", (json_int_t)sb->spec.timeout_s, "domain", domain_json(r),
	    "lifecycle", "autoResume", (fl & SPEC_AUTO_RESUME) != 0, "onTimeout",
	    fl & SPEC_AUTO_PAUSE ? "pause" : "kill");

	(void)json_object_set_new(more, "limits", limits_json(&sb->spec.limits));
	if (sb->state == SANDBOX_PAUSED) {
		(void)json_object_set_new(more, "pausedMemory", json_string(sandbox_memory_name(sb)));
		(void)json_object_set_new(more, "pauseMode",
		    json_string(sb->saved.what & SAVED_NO_RAM ? "filesystem" : "full"));
	}
	if (sb->state == SANDBOX_PAUSED && sb->saved.why_not[0])
		(void)json_object_set_new(more, "pausedMemoryReason", json_string(sb->saved.why_not));
	if (*sb->envd_token && req_sees_tokens(r))
		(void)json_object_set_new(more, "envdAccessToken", json_string(sb->envd_token));
	if (sb->spec.network)
		(void)json_object_set_new(more, "network", spec_network_shown(sb->spec.network));
	put_common(out, sb);
	buf_ch(out, ',');

	size_t brace = out->n;

	json_put(out, more);
	if (!out->bad)
		memmove(out->p + brace, out->p + brace + 1,
		    --out->n - brace); /* without its opening brace: both become one object */
}

static void created(struct req *r, struct sandbox *sb)
{
	histogram_add(&r->api->account->metrics->create, clock_mono_us() - r->began_us);
	/* the client got an error (reply_late), and no client knows the id */
	if (r->status && !sb->once && sb->state == SANDBOX_RUNNING) {
		log_warn("a sandbox started after its request had failed, killing it", "request=%s id=%s", r->id,
		    sb->id);
		sandbox_kill(sb, END_KILLED, "made too late");
		return;
	}
	if (sb->state == SANDBOX_RUNNING) {
		log_info("sandbox created", "request=%s id=%s template=%s engine=%s timeout_s=%u", r->id, sb->id,
		    sb->spec.tpl.name, engine_kind_name(spec_engine(&sb->spec)), sb->spec.timeout_s);
		reply_json(r, 201, sandbox_json(r, sb), NULL);
		return;
	}
	log_warn("could not create a sandbox", "request=%s id=%s err=%s", r->id, sb->id, sb->fail.text);
	reply_err(r, &sb->fail);
}

/* The second request with the same key: the answer to the first was lost, or is still to come. */
static void created_before(struct req *r, struct sandbox *sb)
{
	if (sb->state == SANDBOX_ENDING || sb->state == SANDBOX_DEAD)
		reply_err(r, &sb->fail);
	else
		reply_json(r, 201, sandbox_json(r, sb), NULL);
}

/* The Idempotency-Key of the request. Returns 1: it has one, 0: it has none, -EINVAL: 400 was sent. */
static int read_once(struct req *r, char ret[ONCE_MAX + 1])
{
	struct str key = http_header_get(&r->http->headers, "idempotency-key");

	if (!key.p)
		return 0;
	if (!str_copy(ret, ONCE_MAX + 1, key) || key.n == 0 || strspn(ret, ONCE_CHARS) != key.n) {
		reply_error(r, 400, "header 'Idempotency-Key' must have 1 to %d of a-z, 0-9 and -", ONCE_MAX);
		return -EINVAL;
	}
	return 1;
}

static struct sandbox *find_once(const struct api *a, const char *team, const char *once)
{
	for (struct sandbox *sb = sandbox_table_next(a->sandbox->table, NULL); sb;
	    sb = sandbox_table_next(a->sandbox->table, sb)) {
		if (sb->once && strcmp(sb->once, once) == 0 && strcmp(sb->team, team) == 0)
			return sb;
	}
	return NULL;
}

/* Returns true if an answer was sent, or will be. */
static bool give_again(struct req *r, const char *once)
{
	struct sandbox *sb = find_once(r->api, r->caller.team, once);

	if (!sb)
		return false;
	memcpy(r->sandbox, sb->id, sizeof r->sandbox);
	if (sb->state == SANDBOX_STARTING)
		req_wait(r, sb, created_before);
	else
		created_before(r, sb);
	return true;
}

static void create(struct req *r, enum spec_version ver)
{
	struct api *a = r->api;
	char once[ONCE_MAX + 1];
	int has_once = read_once(r, once);
	autojson json_t *body = has_once < 0 ? NULL : req_json(r, false);
	struct warm_pool_gift gift;
	struct quota_hit hit;
	struct spec sp;
	struct sandbox *sb;
	struct err e;

	if (!body || (has_once && give_again(r, once)))
		return;
	if (spec_parse(a->sandbox, r->caller.team, body, ver, &sp, &e) < 0) {
		reply_err(r, &e);
		return;
	}
	if (spec_limits(a->sandbox, r->caller.team, r->caller.key, body, &sp, &e) < 0 ||
	    spec_engine_pick(a->sandbox, r->caller.team, r->caller.key, body, &sp, &e) < 0 ||
	    spec_check_secrets(a->link, r->caller.team, &sp, &e) < 0 || api_check_room(a, r->caller.team, &e) < 0) {
		spec_done(&sp);
		reply_err(r, &e);
		return;
	}
	if (quota_check_create(a->account, r->caller.team, r->caller.key, &hit) < 0) {
		spec_done(&sp);
		reply_quota(r, &hit);
		return;
	}
	/* from the warm pool, or a cold start */
	bool warm = warm_pool_take(a->sandbox->warm_pool, &sp, &gift);

	if (sandbox_new(a->sandbox, r->caller.team, r->caller.key, &sp, warm ? &gift : NULL, &sb, &e) < 0) {
		log_error("could not create a sandbox", "request=%s err=%s", r->id, e.text);
		reply_err(r, &e);
		return;
	}
	quota_note_create(a->account, r->caller.team, r->caller.key);
	if (sb->spec.from_built && templates_spawned(a->link->store, sb->spec.tpl.id, clock_wall_ms(), &e) < 0)
		log_warn("cannot count the sandboxes of a template", "template=%s err=%s", sb->spec.tpl.id, e.text);
	sb->once = has_once ? strdup(once) : NULL;
	sandbox_by(sb, r->id);
	memcpy(r->sandbox, sb->id, sizeof r->sandbox);
	req_wait(r, sb, created);
	if (warm)
		sandbox_start_warm(sb);
	else
		sandbox_start_cold(sb);
}

void api_create_v1(struct req *r)
{
	create(r, SPEC_V1);
}

void api_create_v2(struct req *r)
{
	create(r, SPEC_V2);
}

void api_info(struct req *r)
{
	struct sandbox *sb = req_sandbox(r);

	autobuf struct buf out = BUF_INIT(DETAIL_MAX);

	if (!sb)
		return;
	put_detail(&out, r, sb);
	if (out.bad)
		reply_error(r, 500, "answer is too large");
	else
		reply_json_text(r, 200, buf_view(&out), NULL);
}

static void killed(struct req *r, struct sandbox *sb)
{
	if (sb->fail.no)
		reply_error(r, 500, "%s", sb->fail.text);
	else
		reply_empty(r, 204);
}

void api_kill(struct req *r)
{
	struct sandbox *sb = req_sandbox(r);

	if (!sb)
		return;
	sb->fail = ERR_INIT;
	sandbox_ref(sb);
	sandbox_by(sb, r->id);
	sandbox_kill(sb, END_KILLED, "killed by request");
	req_wait(r, sb, killed); /* ENDING now: the next state is DEAD */
	sandbox_unref(sb);
}
