/* SPDX-License-Identifier: Apache-2.0 */
/* front/api_sandboxes: create, look at and kill a sandbox. */
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/api.h"
#include "front/front.h"
#include "front/reply.h"
#include "front/request.h"
#include "front/sandbox.h"
#include "front/sandbox_table.h"
#include "http/json.h"

#define MIB (1024 * 1024)

static json_t *text_or_null(const char *z)
{
	return z && *z ? json_string(z) : json_null();
}

static json_t *time_json(uint64_t wall_ms)
{
	char text[CLOCK_RFC3339_SIZE];

	clock_rfc3339(wall_ms, text);
	return json_string(text);
}

json_t *sandbox_json(const struct sandbox *sb)
{
	json_t *j = json_pack("{s:s,s:s,s:s,s:s,s:s,s:o,s:o}", "templateID", sb->spec.tpl.id, "sandboxID", sb->id,
			      "clientID", CLIENT_ID, "envdVersion", ENVD_VERSION, "alias", sb->spec.tpl.name,
			      "trafficAccessToken", text_or_null(sb->traffic_token), "domain", text_or_null(sb->front->opt.domain));

	if (*sb->envd_token)
		(void)json_object_set_new(j, "envdAccessToken", json_string(sb->envd_token));
	return j;
}

json_t *sandbox_listed_json(const struct sandbox *sb)
{
	const struct msg_limits *lim = &sb->spec.limits;
	uint32_t cpus = (lim->cpu_permille + 999) / 1000;
	json_t *metadata = sb->spec.metadata ? json_incref(sb->spec.metadata) : json_object();

	return json_pack("{s:s,s:s,s:s,s:s,s:o,s:o,s:I,s:I,s:I,s:s,s:s,s:o,s:[]}", "templateID", sb->spec.tpl.id,
			 "alias", sb->spec.tpl.name, "sandboxID", sb->id, "clientID", CLIENT_ID, "startedAt", time_json(sb->started_us / 1000),
			 "endAt", time_json(sb->end_ms), "cpuCount", (json_int_t)(cpus ? cpus : 1),
			 "memoryMB", (json_int_t)(lim->mem_bytes / MIB), "diskSizeMB", (json_int_t)(lim->disk_bytes / MIB),
			 "state", sandbox_state_name(sb), "envdVersion", ENVD_VERSION, "metadata", metadata, "volumeMounts");
}

static json_t *sandbox_detail_json(const struct sandbox *sb)
{
	json_t *j = sandbox_listed_json(sb);
	uint32_t fl = sb->spec.flags;

	if (*sb->envd_token)
		(void)json_object_set_new(j, "envdAccessToken", json_string(sb->envd_token));
	(void)json_object_set_new(j, "allowInternetAccess",
				  fl & SPEC_INTERNET_ASKED ? json_boolean(!(fl & SPEC_INTERNET_FALSE)) : json_null());
	(void)json_object_set_new(j, "domain", text_or_null(sb->front->opt.domain));
	(void)json_object_set_new(j, "lifecycle", json_pack("{s:b,s:s}", "autoResume", (fl & SPEC_AUTO_RESUME) != 0,
							    "onTimeout", fl & SPEC_AUTO_PAUSE ? "pause" : "kill"));
	if (sb->spec.network)
		(void)json_object_set(j, "network", sb->spec.network);
	return j;
}

static void created(struct req *r, struct sandbox *sb)
{
	if (sb->state == SANDBOX_RUNNING) {
		log_info("sandbox created", "request=%s id=%s template=%s timeout_s=%u", r->id, sb->id, sb->spec.tpl.name, sb->spec.timeout_s);
		reply_json(r, 201, sandbox_json(sb), NULL);
		return;
	}
	log_warn("could not create a sandbox", "request=%s id=%s err=%s", r->id, sb->id, sb->fail.text);
	reply_err(r, &sb->fail);
}

static void create(struct req *r, enum spec_version ver)
{
	struct front *f = r->front;
	autojson json_t *body = req_json(r, false);
	struct spec sp;
	struct sandbox *sb;
	struct err e;

	if (!body)
		return;
	if (spec_parse(f, body, ver, &sp, &e) < 0) {
		reply_err(r, &e);
		return;
	}
	if (sandbox_table_count(f->sandboxes) >= f->max_sandboxes) {
		spec_done(&sp);
		reply_error(r, 429, "the maximum of %u sandboxes is reached", f->max_sandboxes);
		return;
	}
	if (sandbox_new(f, r->team, &sp, &sb, &e) < 0) {
		log_error("could not create a sandbox", "request=%s err=%s", r->id, e.text);
		reply_err(r, &e);
		return;
	}
	req_wait(r, sb, created);
	sandbox_start(sb);
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

	if (sb)
		reply_json(r, 200, sandbox_detail_json(sb), NULL);
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
	sandbox_kill(sb, "killed by request");
	req_wait(r, sb, killed);	/* now ENDING: the next state is DEAD */
	sandbox_unref(sb);
}
