/* SPDX-License-Identifier: Apache-2.0 */
/* agent/routes: the table of routes that atoll-agent serves. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"
#include "http/route.h"

struct agent_request;

struct route {
	struct http_route on; /* its pattern has at most one "{name}" */
	size_t body_max;
	void (*handler)(struct agent_request *rq); /* runs on its own thread, see agent/request.h */
	bool (*quick)(
	    const struct agent_request *rq); /* may be NULL; true: the handler does not block, so it runs on the loop */
};

/* The route, or NULL. If only the method is wrong, *ret_allow lists the allowed ones. ret_param: raw value of "{}". */
const struct route *agent_route_find(struct str method, struct str path, struct str *ret_param, struct buf *ret_allow);

/* agent/mcp_http.c */
bool mcp_post_quick(const struct agent_request *rq);
void mcp_post(struct agent_request *rq);
bool mcp_get_quick(const struct agent_request *rq);
void mcp_get(struct agent_request *rq);
void mcp_delete(struct agent_request *rq);

/* agent/tool_host.c */
bool agent_tools_quick(const struct agent_request *rq);
void agent_tools(struct agent_request *rq);
void agent_tool_call(struct agent_request *rq);
void agent_tool_record(struct agent_request *rq);

/* agent/health.c */
void agent_health(struct agent_request *rq);

/* agent/sessions_api.c */
void agent_sessions_list(struct agent_request *rq);
void agent_sessions_create(struct agent_request *rq);
void agent_session_get(struct agent_request *rq);
void agent_session_delete(struct agent_request *rq);
void agent_session_execute(struct agent_request *rq);
void agent_session_usage(struct agent_request *rq);

void agent_messages(struct agent_request *rq);  /* agent/messages_api.c */
void agent_state_get(struct agent_request *rq); /* agent/state_api.c */
void agent_metrics(struct agent_request *rq);
