/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/audit_request: the kind of a record by the route. */
#include "front/api/audit_request.h"

#include <string.h>

#include "audit/chain.h"
#include "base/clock.h"
#include "base/fd.h"
#include "front/api/api.h"
#include "front/api/req.h"
#include "front/api/routes.h"
#include "front/record/audit.h"
#include "front/record/records.h"
#include "front/util/peer.h"

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
	{ "POST", "/console/api/login", "console.login" },
	{ "POST", "/console/api/oidc/finish", "console.login" },
	{ "POST", "/console/api/logout", "console.logout" },
	{ "POST", "/console/api/links", "console.link" },
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

/* Which session of the console it was, and whose. */
static void set_console(json_t *o, const struct req *r)
{
	if (*r->caller.session)
		(void)json_object_set_new(o, "console", json_string(r->caller.session));
	if (*r->caller.user)
		(void)json_object_set_new(o, "user", json_string(r->caller.user));
}

void audit_request(struct req *r)
{
	struct audit_who who = who_of(r);

	if (!r->api->record->audit || !r->route || !changes(r->route) || r->status == 401 || r->is_rate || !r->ready)
		return;

	const char *kind = kind_of(r->route), *target = r->param2 ? r->param2 : r->param;
	json_t *fields = json_pack("{s:s,s:i,s:I}", "outcome",
	    r->status >= 500       ? "failed"
		: r->status >= 400 ? "refused"
				   : "ok",
	    "status", r->status, "ms", (json_int_t)((clock_mono_us() - r->began_us) / 1000));

	set_console(fields, r);
	if (target && strcmp(target, r->sandbox) != 0)
		set_word(fields, "target", target);
	if (r->param2)
		set_word(fields, "of", r->param);
	if (strcmp(kind, "api.call") == 0)
		(void)json_object_set_new(fields, "call",
		    json_sprintf("%s %s", r->route->on.method, r->route->on.pattern));
	if (r->status == 429) {
		(void)json_object_set_new(fields, "act", json_string(kind));
		audit_add_limited(r->api->record, AUDIT_QUOTA, "quota.refused", &who, fields);
	} else {
		(void)audit_add(r->api->record, kind, &who, fields);
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

	if (!r->api->record->audit)
		return;
	peer_text(r->http, from);
	fields = json_pack("{s:s,s:s}", "from", from, "why", why);
	set_route(fields, r);
	audit_add_limited(r->api->record, AUDIT_AUTH, "auth.failure", &who, fields);
}

void audit_rate(struct req *r)
{
	struct audit_who who = who_of(r);
	json_t *fields;

	if (!r->api->record->audit)
		return;
	fields = json_pack("{s:s}", "act", "rate");
	set_route(fields, r);
	audit_add_limited(r->api->record, AUDIT_QUOTA, "quota.refused", &who, fields);
}
