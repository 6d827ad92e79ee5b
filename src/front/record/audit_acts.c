/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/audit_acts: requests of the control API by route, and the lifecycle of sandboxes. */
#include "front/record/audit_acts.h"

#include <string.h>

#include "audit/chain.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/inet.h"
#include "front/api/hold.h"
#include "front/api/request.h"
#include "front/api/routes.h"
#include "front/front.h"
#include "front/record/audit.h"
#include "front/sandbox/sandbox.h"
#include "ipc/msg.h"
#include "ipc/rules.h"

/* Routes that change something and are not listed here are recorded as api.call, with method and path. */
static const struct {
	const char *method, *pattern, *kind;
} acts[] = {
	{ "POST", "/sandboxes", "sandbox.create" },
	{ "POST", "/v2/sandboxes", "sandbox.create" },
	{ "DELETE", "/sandboxes/{id}", "sandbox.kill" },
	{ "POST", "/sandboxes/{id}/timeout", "sandbox.timeout" },
	{ "POST", "/sandboxes/{id}/refreshes", "sandbox.refresh" },
	{ "POST", "/sandboxes/{id}/connect", "sandbox.connect" },
	{ "POST", "/v2/sandboxes/{id}/connect", "sandbox.connect" },
	{ "POST", "/sandboxes/{id}/pause", "sandbox.pause" },
	{ "POST", "/sandboxes/{id}/resume", "sandbox.resume" },
	{ "PATCH", "/sandboxes/{id}/limits", "sandbox.limits" },
	{ "PUT", "/sandboxes/{id}/network", "sandbox.network" },
	{ "POST", "/sandboxes/{id}/fork", "sandbox.fork" },
	{ "POST", "/sandboxes/{id}/snapshots", "sandbox.snapshot" },
	{ "POST", "/admin/snapshots", "snapshot.adopt" },
	{ "POST", "/purge", "team.purge" },
	{ "POST", "/volumes", "volume.create" },
	{ "PATCH", "/volumes/{id}", "volume.change" },
	{ "DELETE", "/volumes/{id}", "volume.remove" },
	{ "POST", "/secrets", "secret.create" },
	{ "POST", "/secrets/{id}", "secret.change" },
	{ "DELETE", "/secrets/{id}", "secret.remove" },
	{ "POST", "/api-keys", "key.create" },
	{ "PATCH", "/api-keys/{id}", "key.change" },
	{ "DELETE", "/api-keys/{id}", "key.remove" },
	{ "POST", "/api-keys/{id}/rotate", "key.rotate" },
	{ "POST", "/admin/teams", "team.create" },
	{ "PATCH", "/admin/teams/{team}", "team.change" },
	{ "DELETE", "/admin/teams/{team}", "team.remove" },
	{ "POST", "/admin/teams/{team}/api-keys", "key.create" },
	{ "PATCH", "/admin/teams/{team}/api-keys/{id}", "key.change" },
	{ "DELETE", "/admin/teams/{team}/api-keys/{id}", "key.remove" },
	{ "POST", "/admin/teams/{team}/api-keys/{id}/rotate", "key.rotate" },
	{ "POST", "/admin/teams/{team}/sandboxes/kill", "team.kill" },
	{ "PUT", "/admin/log-level", "server.log_level" },
	{ "POST", "/admin/templates/gc", "template.gc" },
	{ "DELETE", "/templates/{id}", "template.remove" },
	{ "PATCH", "/templates/{id}", "template.change" },
	{ "PATCH", "/v2/templates/{id}", "template.change" },
	{ "POST", "/templates/tags", "template.tag" },
	{ "DELETE", "/templates/tags", "template.untag" },
	{ "POST", "/templates/{id}/builds/{build}", "template.build" },
	{ "POST", "/v2/templates/{id}/builds/{build}", "template.build" },
	{ "DELETE", "/templates/{id}/builds/{build}", "template.cancel" },
	{ "PUT", "/templates/{id}/files/{hash}", "template.upload" },
};

/* These only read, although they are not GET requests; the calls that the agent layer makes for them are recorded
 * as such. */
static const char *const asks[] = { "/mcp", "/agent/" };

static const char *kind_of(const struct route *rt)
{
	for (size_t i = 0; i < ARRAY_LEN(acts); i++) {
		if (strcmp(acts[i].method, rt->on.method) == 0 && strcmp(acts[i].pattern, rt->on.pattern) == 0)
			return acts[i].kind;
	}
	return "api.call";
}

static bool changes(const struct route *rt)
{
	if (strcmp(rt->on.method, "GET") == 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(asks); i++) {
		if (strncmp(rt->on.pattern, asks[i], strlen(asks[i])) == 0)
			return false;
	}
	return true;
}

static struct audit_who who_of(const struct req *r)
{
	return (struct audit_who) { r->id, r->caller.team, r->caller.key, r->sandbox, r->session };
}

static void set_word(json_t *o, const char *name, const char *z)
{
	if (z && *z && audit_word_valid(str_of(z)))
		(void)json_object_set_new(o, name, json_string(z));
}

void audit_request(struct req *r)
{
	struct audit_who who = who_of(r);

	if (!r->front->record.audit || !r->route || !changes(r->route) || r->status == 401 || r->is_rate || !r->ready)
		return;

	const char *kind = kind_of(r->route), *target = r->param2 ? r->param2 : r->param;
	json_t *fields = json_pack("{s:s,s:i,s:I}", "outcome",
	    r->status >= 500       ? "failed"
		: r->status >= 400 ? "refused"
				   : "ok",
	    "status", r->status, "ms", (json_int_t)((clock_mono_us() - r->began_us) / 1000));

	if (target && strcmp(target, r->sandbox) != 0)
		set_word(fields, "target", target);
	if (r->param2)
		set_word(fields, "of", r->param);
	if (strcmp(kind, "api.call") == 0)
		(void)json_object_set_new(fields, "call",
		    json_sprintf("%s %s", r->route->on.method, r->route->on.pattern));
	if (r->status == 429) {
		(void)json_object_set_new(fields, "act", json_string(kind));
		audit_add_limited(r->front, AUDIT_QUOTA, "quota.refused", &who, fields);
	} else {
		(void)audit_add(r->front, kind, &who, fields);
	}
}

static void set_route(json_t *o, const struct req *r)
{
	if (r->route)
		(void)json_object_set_new(o, "call", json_sprintf("%s %s", r->route->on.method, r->route->on.pattern));
}

void audit_auth_failed(struct req *r, const char *why)
{
	struct audit_who who = who_of(r);
	char from[PEER_TEXT_SIZE];
	json_t *fields;

	if (!r->front->record.audit)
		return;
	peer_text(r->http, from);
	fields = json_pack("{s:s,s:s}", "from", from, "why", why);
	set_route(fields, r);
	audit_add_limited(r->front, AUDIT_AUTH, "auth.failure", &who, fields);
}

void audit_rate(struct req *r)
{
	struct audit_who who = who_of(r);
	json_t *fields;

	if (!r->front->record.audit)
		return;
	fields = json_pack("{s:s}", "act", "rate");
	set_route(fields, r);
	audit_add_limited(r->front, AUDIT_QUOTA, "quota.refused", &who, fields);
}

void audit_door(struct sandbox *sb, const struct http_req *rq, const char *request, uint16_t port, const char *why)
{
	const struct audit_who who = { request, sb->team, sb->key, sb->id, NULL };
	char from[PEER_TEXT_SIZE];

	if (!sb->front->record.audit)
		return;
	peer_text(rq, from);
	audit_add_limited(sb->front, AUDIT_AUTH, "auth.failure", &who,
	    json_pack("{s:s,s:s,s:i}", "from", from, "why", why, "port", (int)port));
}

void audit_signature(struct front *f, const struct http_req *rq, const char *request, const char *why)
{
	const struct audit_who who = { .request = request };
	char from[PEER_TEXT_SIZE];

	if (!f->record.audit)
		return;
	peer_text(rq, from);
	audit_add_limited(f, AUDIT_AUTH, "auth.failure", &who,
	    json_pack("{s:s,s:s,s:s}", "from", from, "why", why, "call", "/files"));
}

static struct audit_who who_has(const struct sandbox *sb)
{
	return (struct audit_who) { sb->request, sb->team, sb->key, sb->id, NULL };
}

void audit_life(struct sandbox *sb, const char *kind)
{
	const struct audit_who who = who_has(sb);
	json_t *fields = NULL;

	if (!sb->front->record.audit)
		return;
	if (strcmp(kind, "sandbox.started") == 0) {
		fields = json_pack("{s:I}", "timeout_s", (json_int_t)sb->spec.timeout_s);
		set_word(fields, "template", sb->spec.tpl.name);
	}
	(void)audit_add(sb->front, kind, &who, fields);
}

void audit_ended(struct sandbox *sb, const char *reason)
{
	const struct audit_who who = who_has(sb);
	uint64_t peak = 0, now = clock_wall_ms();
	const struct usage_sample *s;

	if (!sb->front->record.audit)
		return;
	for (size_t i = 0; (s = usage_get(&sb->usage, i)); i++)
		peak = s->mem_bytes > peak ? s->mem_bytes : peak;
	(void)audit_add(sb->front, sb->state == SANDBOX_STARTING ? "sandbox.failed" : "sandbox.ended", &who,
	    json_pack("{s:s,s:I,s:I}", "reason", reason, "age_ms",
		(json_int_t)(now > sb->created_ms ? now - sb->created_ms : 0), "memory_peak_bytes", (json_int_t)peak));
}

void audit_lost(struct front *f, const char *id, const char *team, const char *reason)
{
	const struct audit_who who = { NULL, team, NULL, id, NULL };

	(void)audit_add(f, "sandbox.ended", &who, json_pack("{s:s}", "reason", reason));
}

void audit_used(struct front *f, const char *team, const char *key, const struct msg_exited *m)
{
	const struct audit_who who = { NULL, team, key, m->id, NULL };

	(void)audit_add(f, "sandbox.usage", &who,
	    json_pack("{s:I,s:I}", "cpu_ms", (json_int_t)(m->cpu_ns / 1000000), "sent_bytes",
		(json_int_t)m->sent_bytes));
}

void audit_syscall(struct sandbox *sb, const struct msg_refused *m)
{
	const struct audit_who who = { NULL, sb->team, sb->key, sb->id, NULL };

	audit_add_limited(sb->front, AUDIT_SYSCALL, "violation.syscall", &who,
	    json_pack("{s:s,s:s,s:i,s:i}", "call", m->call, "process", m->process, "pid", (int)m->pid, "count",
		(int)m->count));
}

void audit_egress(struct sandbox *sb, const struct fe_refused *m)
{
	const struct audit_who who = { NULL, sb->team, sb->key, sb->id, NULL };
	char ip[INET_TEXT_SIZE];
	json_t *fields;

	if (!sb->front->record.audit)
		return;
	fields = json_pack("{s:s,s:s}", "name", m->name, "why", m->why);
	if (m->ip) {
		(void)json_object_set_new(fields, "address", json_string(inet_text(m->ip, ip)));
		(void)json_object_set_new(fields, "port", json_integer(m->port));
	}
	audit_add_limited(sb->front, AUDIT_EGRESS, "violation.egress", &who, fields);
}

void audit_blocked(struct sandbox *sb, const struct msg_blocked *m, const char *proto)
{
	const struct audit_who who = { NULL, sb->team, sb->key, sb->id, NULL };
	char ip[INET_TEXT_SIZE];

	if (sb->front->record.audit)
		audit_add_limited(sb->front, AUDIT_EGRESS, "violation.egress", &who,
		    json_pack("{s:s,s:s,s:i,s:s}", "why", "refused by policy", "address", inet_text(m->ip, ip), "port",
			(int)m->port, "protocol", proto));
}
