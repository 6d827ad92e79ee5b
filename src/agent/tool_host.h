/* SPDX-License-Identifier: Apache-2.0 */
/* agent/tool_host: provides the tools (mcp/tools.h) with the caller's sandboxes, the policy and the audit log. */
#pragma once

#include "mcp/tools.h"

struct agent_request;

struct tool_request { /* first member of the user pointer of a struct tool_run */
	struct agent_request *v;
};

int tool_host_open(struct err *e); /* at start, after state_open() */
int tool_host_for(struct agent_request *rq, struct tool_host *ret, struct atoll_error *e);
