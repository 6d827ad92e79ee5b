/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/tools_session: lists and ends sessions. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "http/json.h"
#include "mcp/tools.h"

static json_t *session_json(const struct atoll_session *s)
{
	autofree char *text = atoll_session_json(s);

	return text ? json_loads(text, 0, NULL) : NULL;
}

static void list_sessions(struct tool_run *r)
{
	size_t n;
	autofree struct atoll_session *v = sandbox_cache_sessions(r->host->cache, &n);
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++) {
		char used[CLOCK_RFC3339_SIZE];

		clock_rfc3339((uint64_t)v[i].last_used_ms, used);
		run_say(r, "%s: agent %s, sandbox %s, last used %s", v[i].id, v[i].agent_id, v[i].sandbox_id, used);
		(void)json_array_append_new(list, session_json(&v[i]));
	}
	if (n == 0)
		run_say(r, "(no sessions)");
	run_set(r, "sessions", list);
}

static void end_session(struct tool_run *r)
{
	char id[SESSION_ID_SIZE];
	struct atoll_error e = { 0 };

	if (sandbox_cache_session_end(r->host->cache, r->agent, run_some(r, "session_id"), id, &e) < 0) {
		(void)run_failed(r, &e);
		return;
	}
	run_say(r, "Ended session %s and killed its sandbox", id);
	run_set(r, "sessionId", json_string(id));
}

const struct tool_handler tools_session[] = {
	{ "list_sessions", list_sessions, .outside = true },
	{ "end_session", end_session, .seeks = SEEKS_SESSION },
	{ NULL },
};
