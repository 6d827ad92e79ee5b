/* SPDX-License-Identifier: Apache-2.0 */
/* agent/routes: the table of what atoll-agent serves. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"
#include "http/route.h"

struct visit;

struct route {
	struct http_route on; /* its pattern has at most one "{name}" */
	size_t body_max;
	void (*handler)(struct visit *v);     /* on a thread of its own, see agent/visit.h */
	bool (*quick)(const struct visit *v); /* may be NULL; true: it does not block, so the loop itself calls it */
};

/* The route, or NULL; *ret_allow lists the methods of the path when only the method is wrong. ret_param: raw text of
 * the "{}". */
const struct route *agent_route_find(struct str method, struct str path, struct str *ret_param, struct buf *ret_allow);

/* agent/mcp_http.c */
bool mcp_post_quick(const struct visit *v);
void mcp_post(struct visit *v);
bool mcp_get_quick(const struct visit *v);
void mcp_get(struct visit *v);
void mcp_delete(struct visit *v);

/* agent/tool_host.c */
bool agent_tools_quick(const struct visit *v);
void agent_tools(struct visit *v);
void agent_tool_call(struct visit *v);
void agent_tool_record(struct visit *v);

/* agent/health.c */
void agent_health(struct visit *v);

/* agent/sessions_api.c */
void agent_sessions_list(struct visit *v);
void agent_sessions_create(struct visit *v);
void agent_session_get(struct visit *v);
void agent_session_delete(struct visit *v);
void agent_session_execute(struct visit *v);
void agent_session_usage(struct visit *v);

void agent_messages(struct visit *v); /* agent/messages_api.c */
void agent_state(struct visit *v);    /* agent/state_api.c */
void agent_metrics(struct visit *v);
