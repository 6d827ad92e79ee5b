/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/routes: maps methods and paths to handlers. */
#include "front/api/routes.h"

#include "base/fd.h"
#include "front/account/metrics.h"
#include "front/api/handlers.h"

#define LOGIN_MAX 4096
#define OIDC_MAX 16384
#define SMALL (64 * 1024)
#define CREATE_MAX (1024 * 1024)
#define BUILD_MAX (8 * 1024 * 1024)
#define AGENT_MAX (16 * 1024 * 1024)
#define UPLOAD_MAX (1ull << 40) /* the setting is the effective limit */

/* Passed on to atoll-agent, which knows the paths below. */
#define AGENT(method, pattern) \
	{ { method, pattern }, ACCESS_TEAM, AGENT_MAX, api_agent_end, .busy = true, .begin = api_agent_begin, \
		.on_data = api_agent_data, .on_drain = api_agent_drain, .on_over = api_agent_over }

/* The first match counts, so fixed names come before "{id}". */
static const struct route routes[] = {
	{ { "GET", "/health" }, ACCESS_OPEN, 0, api_health, .quiet = true },
	{ { "GET", "/metrics" }, ACCESS_METRICS, 0, api_prometheus, .quiet = true },

	{ { "GET", "/console/api/login" }, ACCESS_OPEN, 0, api_console_ways, .quiet = true },
	{ { "POST", "/console/api/oidc/begin" }, ACCESS_OPEN, LOGIN_MAX, api_oidc_begin },
	{ { "POST", "/console/api/oidc/finish" }, ACCESS_OPEN, OIDC_MAX, api_oidc_finish },
	{ { "POST", "/console/api/login" }, ACCESS_OPEN, LOGIN_MAX, api_console_login },
	{ { "POST", "/console/api/logout" }, ACCESS_OPEN, LOGIN_MAX, api_console_logout },
	{ { "GET", "/console/api/session" }, ACCESS_OPEN, 0, api_console_session, .quiet = true },
	{ { "POST", "/console/api/links" }, ACCESS_TEAM, LOGIN_MAX, api_console_link },

	{ { "GET", "/sandboxes" }, ACCESS_TEAM, 0, api_list_v1 },
	{ { "POST", "/sandboxes" }, ACCESS_TEAM, CREATE_MAX, api_create_v1, .warden = true },
	{ { "GET", "/v2/sandboxes" }, ACCESS_TEAM, 0, api_list_v2 },
	{ { "POST", "/v2/sandboxes" }, ACCESS_TEAM, CREATE_MAX, api_create_v2, .warden = true },
	{ { "GET", "/sandboxes/metrics" }, ACCESS_TEAM, 0, api_metrics_many },
	{ { "GET", "/sandboxes/{id}" }, ACCESS_TEAM, 0, api_info },
	{ { "DELETE", "/sandboxes/{id}" }, ACCESS_TEAM, SMALL, api_kill, .warden = true },
	{ { "POST", "/sandboxes/{id}/timeout" }, ACCESS_TEAM, SMALL, api_timeout },
	{ { "POST", "/sandboxes/{id}/refreshes" }, ACCESS_TEAM, SMALL, api_refresh },
	{ { "POST", "/sandboxes/{id}/connect" }, ACCESS_TEAM, SMALL, api_connect_v1 },
	{ { "POST", "/v2/sandboxes/{id}/connect" }, ACCESS_TEAM, SMALL, api_connect_v2 },
	{ { "POST", "/sandboxes/{id}/pause" }, ACCESS_TEAM, SMALL, api_pause, .warden = true },
	{ { "POST", "/sandboxes/{id}/resume" }, ACCESS_TEAM, SMALL, api_resume, .warden = true },
	{ { "GET", "/sandboxes/{id}/limits" }, ACCESS_TEAM, 0, api_limits },
	{ { "PATCH", "/sandboxes/{id}/limits" }, ACCESS_TEAM, SMALL, api_limits_set, .warden = true },
	{ { "PUT", "/sandboxes/{id}/network" }, ACCESS_TEAM, SMALL, api_network, .warden = true },
	{ { "GET", "/sandboxes/{id}/notebook" }, ACCESS_TEAM, 0, api_notebook, .on_drain = api_notebook_drain,
	    .on_over = api_notebook_over },
	{ { "GET", "/sandboxes/{id}/metrics" }, ACCESS_TEAM, 0, api_metrics },
	{ { "GET", "/sandboxes/{id}/logs" }, ACCESS_TEAM, 0, api_logs_v1 },
	{ { "GET", "/v2/sandboxes/{id}/logs" }, ACCESS_TEAM, 0, api_logs_v2 },

	{ { "GET", "/templates" }, ACCESS_TEAM, 0, api_templates },
	{ { "GET", "/v2/templates" }, ACCESS_TEAM, 0, api_templates_v2 },
	{ { "GET", "/default-templates" }, ACCESS_TEAM, 0, api_default_templates },
	{ { "GET", "/templates/aliases/{alias}" }, ACCESS_TEAM, 0, api_template_alias },
	{ { "POST", "/templates/tags" }, ACCESS_TEAM, SMALL, api_tags_add },
	{ { "DELETE", "/templates/tags" }, ACCESS_TEAM, SMALL, api_tags_drop },
	{ { "GET", "/templates/{id}/tags" }, ACCESS_TEAM, 0, api_template_tags },
	{ { "GET", "/templates/{id}/tags/groups" }, ACCESS_TEAM, 0, api_tag_groups },
	{ { "GET", "/templates/{id}/tags/count" }, ACCESS_TEAM, 0, api_tags_count },
	{ { "GET", "/templates/{id}/tags/exists" }, ACCESS_TEAM, 0, api_tag_exists },
	{ { "GET", "/templates/{id}/tags/{tag}/assignments" }, ACCESS_TEAM, 0, api_tag_assignments },
	{ { "GET", "/templates/{id}" }, ACCESS_TEAM, 0, api_template },
	{ { "PATCH", "/v2/templates/{id}" }, ACCESS_TEAM, SMALL, api_template_set },
	{ { "PATCH", "/templates/{id}" }, ACCESS_TEAM, SMALL, api_template_set },
	{ { "DELETE", "/templates/{id}" }, ACCESS_TEAM, SMALL, api_template_drop },
	{ { "POST", "/templates" }, ACCESS_TEAM, CREATE_MAX, api_build_request_v1 },
	{ { "POST", "/v2/templates" }, ACCESS_TEAM, CREATE_MAX, api_build_request },
	{ { "POST", "/v3/templates" }, ACCESS_TEAM, CREATE_MAX, api_build_request },
	{ { "POST", "/templates/{id}" }, ACCESS_TEAM, CREATE_MAX, api_build_request_v1 },
	{ { "POST", "/templates/{id}/builds/{build}" }, ACCESS_TEAM, CREATE_MAX, api_build_start_v1, .warden = true },
	{ { "POST", "/v2/templates/{id}/builds/{build}" }, ACCESS_TEAM, BUILD_MAX, api_build_start, .warden = true },
	{ { "DELETE", "/templates/{id}/builds/{build}" }, ACCESS_TEAM, SMALL, api_build_cancel },
	{ { "GET", "/templates/{id}/files/{hash}" }, ACCESS_TEAM, 0, api_upload_link, .busy = true },
	{ { "PUT", "/templates/{id}/files/{hash}" }, ACCESS_OPEN, UPLOAD_MAX, api_upload_end, .begin = api_upload_begin,
	    .on_data = api_upload_data, .on_lost = api_upload_lost },
	{ { "GET", "/templates/{id}/builds/{build}/status" }, ACCESS_TEAM, 0, api_build_status },
	{ { "GET", "/templates/{id}/builds/{build}/logs" }, ACCESS_TEAM, 0, api_build_logs },

	{ { "POST", "/sandboxes/{id}/fork" }, ACCESS_TEAM, SMALL, api_fork, .warden = true },
	{ { "POST", "/sandboxes/{id}/snapshots" }, ACCESS_TEAM, SMALL, api_snapshot, .warden = true },
	{ { "GET", "/snapshots" }, ACCESS_TEAM, 0, api_snapshots },
	{ { "POST", "/admin/snapshots" }, ACCESS_ADMIN, SMALL, api_snapshot_adopt, .warden = true },
	{ { "POST", "/purge" }, ACCESS_TEAM, SMALL, api_purge },
	{ { "GET", "/volumes" }, ACCESS_TEAM, 0, api_volumes },
	{ { "POST", "/volumes" }, ACCESS_TEAM, SMALL, api_volume_add, .warden = true },
	{ { "GET", "/volumes/{id}" }, ACCESS_TEAM, 0, api_volume },
	{ { "PATCH", "/volumes/{id}" }, ACCESS_TEAM, SMALL, api_volume_set },
	{ { "DELETE", "/volumes/{id}" }, ACCESS_TEAM, SMALL, api_volume_drop },
	{ { "GET", "/secrets" }, ACCESS_TEAM, 0, api_secrets },
	{ { "POST", "/secrets" }, ACCESS_TEAM, SMALL, api_secret_add },
	{ { "GET", "/secrets/{id}" }, ACCESS_TEAM, 0, api_secret },
	{ { "POST", "/secrets/{id}" }, ACCESS_TEAM, SMALL, api_secret_set },
	{ { "DELETE", "/secrets/{id}" }, ACCESS_TEAM, SMALL, api_secret_drop },

	{ { "GET", "/events/sandboxes" }, ACCESS_TEAM, 0, api_events },
	{ { "GET", "/events/sandboxes/{id}" }, ACCESS_TEAM, 0, api_events_of },
	{ { "GET", "/events/webhooks" }, ACCESS_TEAM, 0, api_webhooks },
	{ { "POST", "/events/webhooks" }, ACCESS_TEAM, SMALL, api_webhook_add },
	{ { "GET", "/events/webhooks/{id}" }, ACCESS_TEAM, 0, api_webhook },
	{ { "PATCH", "/events/webhooks/{id}" }, ACCESS_TEAM, SMALL, api_webhook_set },
	{ { "DELETE", "/events/webhooks/{id}" }, ACCESS_TEAM, SMALL, api_webhook_drop },
	{ { "POST", "/events/webhooks/{id}/test" }, ACCESS_TEAM, SMALL, api_webhook_test },
	{ { "GET", "/events/webhooks/{id}/deliveries" }, ACCESS_TEAM, 0, api_webhook_deliveries },

	{ { "GET", "/audit" }, ACCESS_TEAM, 0, api_audit },
	{ { "GET", "/admin/audit" }, ACCESS_ADMIN, 0, admin_audit },
	{ { "GET", "/usage" }, ACCESS_TEAM, 0, api_meter },
	{ { "GET", "/teams" }, ACCESS_TEAM, 0, api_teams },
	{ { "GET", "/teams/{team}/metrics" }, ACCESS_TEAM, 0, api_team_metrics },
	{ { "GET", "/teams/{team}/metrics/max" }, ACCESS_TEAM, 0, api_team_metrics_max },
	{ { "GET", "/api-keys" }, ACCESS_TEAM, 0, api_keys },
	{ { "POST", "/api-keys" }, ACCESS_TEAM, SMALL, api_key_add },
	{ { "PATCH", "/api-keys/{id}" }, ACCESS_TEAM, SMALL, api_key_rename },
	{ { "DELETE", "/api-keys/{id}" }, ACCESS_TEAM, SMALL, api_key_drop },
	{ { "POST", "/api-keys/{id}/rotate" }, ACCESS_TEAM, SMALL, api_key_rotate },
	{ { "POST", "/access-tokens" }, ACCESS_TEAM, SMALL, api_access_tokens },
	{ { "DELETE", "/access-tokens/{id}" }, ACCESS_TEAM, SMALL, api_access_tokens },

	{ { "GET", "/admin/teams" }, ACCESS_ADMIN, 0, admin_teams },
	{ { "POST", "/admin/teams" }, ACCESS_ADMIN, SMALL, admin_team_add },
	{ { "GET", "/admin/teams/{team}" }, ACCESS_ADMIN, 0, admin_team },
	{ { "PATCH", "/admin/teams/{team}" }, ACCESS_ADMIN, SMALL, admin_team_set },
	{ { "DELETE", "/admin/teams/{team}" }, ACCESS_ADMIN, SMALL, admin_team_drop },
	{ { "GET", "/admin/teams/{team}/api-keys" }, ACCESS_ADMIN, 0, admin_keys },
	{ { "POST", "/admin/teams/{team}/api-keys" }, ACCESS_ADMIN, SMALL, admin_key_add },
	{ { "DELETE", "/admin/teams/{team}/api-keys/{id}" }, ACCESS_ADMIN, SMALL, admin_key_drop },
	{ { "PATCH", "/admin/teams/{team}/api-keys/{id}" }, ACCESS_ADMIN, SMALL, admin_key_set },
	{ { "POST", "/admin/teams/{team}/api-keys/{id}/rotate" }, ACCESS_ADMIN, SMALL, admin_key_rotate },
	{ { "POST", "/admin/teams/{team}/sandboxes/kill" }, ACCESS_ADMIN, SMALL, admin_kill, .warden = true },
	{ { "GET", "/admin/sandboxes" }, ACCESS_ADMIN, 0, admin_sandboxes },
	{ { "GET", "/admin/sandboxes/running-counts" }, ACCESS_ADMIN, 0, admin_running },
	{ { "GET", "/admin/log-level" }, ACCESS_ADMIN, 0, admin_log_level },
	{ { "PUT", "/admin/log-level" }, ACCESS_ADMIN, SMALL, admin_log_level_set, .warden = true },
	{ { "POST", "/admin/templates/gc" }, ACCESS_ADMIN, SMALL, admin_template_gc },
	{ { "GET", "/admin/usage" }, ACCESS_ADMIN, 0, admin_meter },
	{ { "GET", "/admin/capacity" }, ACCESS_ADMIN, 0, admin_capacity, .warden = true },
	{ { "GET", "/nodes" }, ACCESS_ADMIN, 0, admin_nodes },

	AGENT("POST", "/mcp"),
	AGENT("GET", "/mcp"),
	AGENT("DELETE", "/mcp"),
	AGENT("GET", "/agent/{*}"),
	AGENT("POST", "/agent/{*}"),
	AGENT("PUT", "/agent/{*}"),
	AGENT("PATCH", "/agent/{*}"),
	AGENT("DELETE", "/agent/{*}"),
};

_Static_assert(ARRAY_LEN(routes) <= METRICS_ROUTES_MAX, "each route has its own counters");

const struct route *route_find(struct str method, struct str path, struct str ret_params[HTTP_ROUTE_PARAMS],
    struct buf *ret_allow)
{
	ptrdiff_t i = http_route_find(HTTP_ROUTES(routes), http_route_method(method), path, ret_params, ret_allow);

	return i < 0 ? NULL : &routes[i];
}

bool route_for_blocked(const struct route *r)
{
	return !r->busy && (strcmp(r->on.method, "GET") == 0 || strcmp(r->on.method, "DELETE") == 0);
}

bool route_for_viewer(const struct route *r)
{
	return !r->busy && strcmp(r->on.method, "GET") == 0;
}

const struct route *route_at(size_t i)
{
	return i < ARRAY_LEN(routes) ? &routes[i] : NULL;
}

size_t route_index(const struct route *r)
{
	return r ? (size_t)(r - routes) : METRICS_ROUTES_MAX;
}
