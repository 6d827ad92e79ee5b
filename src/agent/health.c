/* SPDX-License-Identifier: Apache-2.0 */
/* agent/health: reports whether the agent layer can work for the caller. */
#include "agent/request.h"
#include "agent/routes.h"
#include "agent/state.h"
#include "client/atoll.h"

void agent_health(struct agent_request *rq)
{
	struct atoll_error e = { 0 };
	struct atoll *a = agent_request_client(rq, &e);

	if (!a || atoll_health(a, &e) < 0 || !state_can_execute(a, &e))
		agent_request_json(rq, 503,
		    json_pack("{s:s,s:b,s:s}", "status", "degraded", "canExecuteCode", 0, "message", e.text));
	else
		agent_request_json(rq, 200, json_pack("{s:s,s:b}", "status", "ok", "canExecuteCode", 1));
}
