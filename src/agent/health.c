/* SPDX-License-Identifier: Apache-2.0 */
/* agent/health: can the agent layer do its work for whoever asks? */
#include "agent/desk.h"
#include "agent/routes.h"
#include "agent/visit.h"
#include "client/atoll.h"

void agent_health(struct visit *v)
{
	struct atoll_error e = { 0 };
	struct atoll *a = visit_client(v, &e);

	if (!a || atoll_health(a, &e) < 0 || !desk_can_execute(a, &e))
		visit_json(v, 503,
		    json_pack("{s:s,s:b,s:s}", "status", "degraded", "canExecuteCode", 0, "message", e.text));
	else
		visit_json(v, 200, json_pack("{s:s,s:b}", "status", "ok", "canExecuteCode", 1));
}
