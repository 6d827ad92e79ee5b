/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/server: methods, revisions, responses. */
#include "mcp/server.h"

#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/str.h"

#define META "io.modelcontextprotocol/"
#define LIST_TTL_MS 3600000
#define INSTRUCTIONS \
	"Run code and commands in isolated Linux sandboxes. Calls without sandbox_id share the sandbox of this " \
	"client's session, so variables and files persist between calls; results contain its ID. A tool that fails " \
	"returns an error code, the reason and a remedy."

static const char *const legacy[] = { MCP_LATEST_LEGACY, "2025-06-18", "2025-03-26", "2024-11-05" };

static bool is_legacy(const char *version)
{
	for (size_t i = 0; i < ARRAY_LEN(legacy); i++) {
		if (strcmp(legacy[i], version) == 0)
			return true;
	}
	return false;
}

bool mcp_knows_version(const char *version)
{
	return strcmp(version, MCP_LATEST) == 0 || is_legacy(version);
}

bool mcp_batches(const struct mcp_peer *p)
{
	return strcmp(p->version, "2025-03-26") == 0 || strcmp(p->version, "2024-11-05") == 0;
}

static const json_t *meta_of(const struct rpc_msg *m, const char *name)
{
	return json_object_get(json_object_get(m->params, "_meta"), name);
}

bool mcp_is_modern(const struct rpc_msg *m)
{
	return meta_of(m, META "protocolVersion") != NULL;
}

static json_t *server_info(void)
{
	return json_pack("{s:s,s:s,s:s}", "name", "atoll", "title", "atoll sandboxes", "version", ATOLL_VERSION);
}

static json_t *versions(bool modern)
{
	json_t *v = json_array();

	if (modern)
		json_array_append_new(v, json_string(MCP_LATEST));
	for (size_t i = 0; i < ARRAY_LEN(legacy); i++)
		json_array_append_new(v, json_string(legacy[i]));
	return v;
}

/* The result of a self-contained request has a type and names the server. */
static json_t *finish(const struct mcp_peer *p, json_t *result)
{
	if (!p->modern)
		return result;
	json_object_set_new(result, "resultType", json_string("complete"));
	json_object_set_new(result, "_meta", json_pack("{s:o}", META "serverInfo", server_info()));
	return result;
}

static json_t *initialize(struct mcp_peer *p, const struct rpc_msg *m)
{
	const char *wanted = json_string_value(json_object_get(m->params, "protocolVersion"));

	if (!wanted)
		return rpc_error(m->id, RPC_INVALID_PARAMS, "Invalid params: field 'protocolVersion' is missing", NULL);
	(void)snprintf(p->version, sizeof p->version, "%s", is_legacy(wanted) ? wanted : MCP_LATEST_LEGACY);
	return rpc_result(m->id,
	    json_pack("{s:s,s:{s:{s:b}},s:o,s:s}", "protocolVersion", p->version, "capabilities", "tools",
		"listChanged", 0, "serverInfo", server_info(), "instructions", INSTRUCTIONS));
}

static json_t *discover(const struct mcp_peer *p, const struct rpc_msg *m)
{
	return rpc_result(m->id,
	    finish(p,
		json_pack("{s:o,s:{s:{}},s:s,s:i,s:s}", "supportedVersions", versions(true), "capabilities", "tools",
		    "instructions", INSTRUCTIONS, "ttlMs", LIST_TTL_MS, "cacheScope", "public")));
}

static json_t *list_tools(const struct mcp_peer *p, const struct rpc_msg *m)
{
	const json_t *cursor = json_object_get(m->params, "cursor");

	if (cursor) /* the first page holds all tools, so no cursor is ever issued */
		return rpc_error(m->id, RPC_INVALID_PARAMS,
		    "Invalid params: field 'cursor' is not a cursor of this server", NULL);
	json_t *result = json_pack("{s:O}", "tools", tools_list("mcp"));

	if (p->modern) {
		json_object_set_new(result, "ttlMs", json_integer(LIST_TTL_MS));
		json_object_set_new(result, "cacheScope", json_string("public"));
	}
	return rpc_result(m->id, finish(p, result));
}

static json_t *check_version(const struct rpc_msg *m)
{
	const json_t *v = meta_of(m, META "protocolVersion");
	const char *asked = json_string_value(v);

	if (!asked)
		return rpc_error(m->id, RPC_INVALID_PARAMS,
		    "Invalid params: field '_meta." META "protocolVersion' must be a string", NULL);
	if (strcmp(asked, MCP_LATEST) != 0)
		return rpc_error(m->id, RPC_UNSUPPORTED_VERSION, "Unsupported protocol version",
		    json_pack("{s:[s],s:s}", "supported", MCP_LATEST, "requested", asked));
	return NULL;
}

static json_t *check_call(const struct rpc_msg *m)
{
	const json_t *name = json_object_get(m->params, "name"), *args = json_object_get(m->params, "arguments");
	char text[160];

	if (!json_is_string(name))
		return rpc_error(m->id, RPC_INVALID_PARAMS, "Invalid params: field 'name' must be a string", NULL);
	if (args && !json_is_object(args))
		return rpc_error(m->id, RPC_INVALID_PARAMS, "Invalid params: field 'arguments' must be an object",
		    NULL);
	if (tool_find(json_string_value(name)))
		return NULL;
	(void)snprintf(text, sizeof text, "Unknown tool: %.100s", json_string_value(name));
	return rpc_error(m->id, RPC_INVALID_PARAMS, text, NULL);
}

static enum mcp_todo take_notification(const struct rpc_msg *m, json_t **ret)
{
	json_t *id = json_object_get(m->params, "requestId");

	if (strcmp(m->method, "notifications/cancelled") != 0 || !(json_is_string(id) || json_is_integer(id)))
		return MCP_NOTHING;
	*ret = id;
	return MCP_CANCEL;
}

static enum mcp_todo mcp_listen(const struct mcp_peer *p, const struct rpc_msg *m, json_t **ret)
{
	if (!p->modern) {
		*ret = rpc_error(m->id, RPC_METHOD_NOT_FOUND, "Method not found", NULL);
		return MCP_ANSWER;
	}
	/* Nothing here changes, so no kind of notification is promised. */
	*ret = rpc_notification("notifications/subscriptions/acknowledged",
	    json_pack("{s:{s:O},s:{}}", "_meta", META "subscriptionId", m->id, "notifications"));
	return MCP_LISTEN;
}

enum mcp_todo mcp_take(struct mcp_peer *p, const struct rpc_msg *m, json_t **ret)
{
	if (m->kind == RPC_RESPONSE) /* we send no requests */
		return MCP_NOTHING;
	if (m->kind == RPC_NOTIFICATION)
		return take_notification(m, ret);
	p->modern = mcp_is_modern(m);
	if (p->modern && (*ret = check_version(m)))
		return MCP_ANSWER;
	if (strcmp(m->method, "initialize") == 0 && !p->modern) {
		*ret = initialize(p, m);
	} else if (strcmp(m->method, "server/discover") == 0 && p->modern) {
		*ret = discover(p, m);
	} else if (strcmp(m->method, "ping") == 0) {
		*ret = rpc_result(m->id, finish(p, json_object()));
	} else if (!p->modern && !p->version[0]) {
		*ret = rpc_error(m->id, RPC_INVALID_REQUEST,
		    "Invalid Request: send initialize first, or '_meta." META "protocolVersion' with each request",
		    NULL);
	} else if (strcmp(m->method, "tools/list") == 0) {
		*ret = list_tools(p, m);
	} else if (strcmp(m->method, "tools/call") == 0) {
		*ret = check_call(m);
		if (!*ret)
			return MCP_CALL;
	} else if (strcmp(m->method, "subscriptions/listen") == 0) {
		return mcp_listen(p, m, ret);
	} else {
		*ret = rpc_error(m->id, RPC_METHOD_NOT_FOUND, "Method not found", NULL);
	}
	return MCP_ANSWER;
}

/* --- tools/call ---------------------------------------------------------------------------------------------- */

struct progress {
	const struct rpc_msg *m;
	struct tool_run *r;
	void *user;
	void (*notify)(void *user, json_t *note);
};

static _Thread_local struct progress
    *current; /* of this thread's call; tools report progress from their own thread only */

static void on_progress(void *user, double at, const char *message)
{
	json_t *token = json_object_get(json_object_get(current->m->params, "_meta"), "progressToken");

	(void)user;
	current->notify(current->user,
	    rpc_notification("notifications/progress",
		json_pack("{s:O,s:f,s:s}", "progressToken", token, "progress", at, "message", message)));
}

bool mcp_wants_progress(const struct rpc_msg *m)
{
	const json_t *token = meta_of(m, "progressToken");

	return json_is_string(token) || json_is_integer(token);
}

json_t *mcp_call(const struct mcp_peer *p, const struct rpc_msg *m, struct tool_run *r,
    void (*notify)(void *user, json_t *note))
{
	struct progress pg = { .m = m, .r = r, .user = r->user, .notify = notify };
	json_t *args = json_object_get(m->params, "arguments"), *none = args ? NULL : json_object();

	r->tool = tool_find(json_string_value(json_object_get(m->params, "name")));
	r->args = args ? args : none;
	if (notify && mcp_wants_progress(m)) {
		current = &pg;
		r->progress = on_progress;
	}
	json_t *result = tool_call(r);

	current = NULL;
	json_decref(none);
	if (r->stopped && r->stopped(r->user)) {
		json_decref(result);
		return NULL;
	}
	return result ? rpc_result(m->id, finish(p, result))
		      : rpc_error(m->id, RPC_INTERNAL_ERROR, "Internal error: out of memory", NULL);
}
