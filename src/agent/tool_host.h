/* SPDX-License-Identifier: Apache-2.0 */
/* agent/tool_host: what the tools of agents (mcp/tools.h) get from this process: the caller's sandboxes, the policy,
 * the audit log. */
#pragma once

#include "mcp/tools.h"

struct agent_request;

struct tool_request { /* the first member of the `user` of a struct tool_run */
	struct agent_request *v;
};

int tool_host_open(struct err *e); /* at start, after state_open() */
int tool_host_for(struct agent_request *rq, struct tool_host *ret, struct atoll_error *e);
