/* SPDX-License-Identifier: Apache-2.0 */
/* agent/routes: maps methods and paths to handlers. */
#include "agent/routes.h"

#define SMALL (64 * 1024)
#define CODE (8 * 1024 * 1024)  /* ATOLL_CODE_MAX, with every byte escaped */
#define TOOL (16 * 1024 * 1024) /* as in the front; it may contain a file to write */

static const struct route routes[] = {
	{ { "POST", "/mcp" }, TOOL, mcp_post, .quick = mcp_post_quick },
	{ { "GET", "/mcp" }, 0, mcp_get, .quick = mcp_get_quick },
	{ { "DELETE", "/mcp" }, 0, mcp_delete },
	{ { "GET", "/agent/tools" }, 0, agent_tools, .quick = agent_tools_quick },
	{ { "POST", "/agent/tools/{name}" }, TOOL, agent_tool_call },
	{ { "POST", "/agent/tool-records" }, 4096, agent_tool_record },
	{ { "GET", "/agent/health" }, 0, agent_health },
	{ { "GET", "/agent/state" }, 0, agent_state_get },
	{ { "GET", "/agent/metrics" }, 0, agent_metrics },
	{ { "POST", "/agent/messages" }, CODE, agent_messages },
	{ { "GET", "/agent/sessions" }, 0, agent_sessions_list },
	{ { "POST", "/agent/sessions" }, SMALL, agent_sessions_create },
	{ { "GET", "/agent/sessions/{id}" }, 0, agent_session_get },
	{ { "DELETE", "/agent/sessions/{id}" }, 0, agent_session_delete },
	{ { "GET", "/agent/sessions/{id}/usage" }, 0, agent_session_usage },
	{ { "POST", "/agent/sessions/{id}/execute" }, CODE, agent_session_execute },
};

const struct route *agent_route_find(struct str method, struct str path, struct str *ret_param, struct buf *ret_allow)
{
	struct str params[HTTP_ROUTE_PARAMS];
	ptrdiff_t i = http_route_find(HTTP_ROUTES(routes), http_route_method(method), path, params, ret_allow);

	if (i < 0)
		return NULL;
	*ret_param = params[0];
	return &routes[i];
}
