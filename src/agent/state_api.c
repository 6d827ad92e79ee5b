/* SPDX-License-Identifier: Apache-2.0 */
/* agent/state_api: GET /agent/state, a summary for an agent's prompt, and GET /agent/metrics, counters for
 * Prometheus. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/clients.h"
#include "agent/request.h"
#include "agent/routes.h"
#include "agent/run.h"
#include "agent/state.h"
#include "base/buf.h"
#include "base/fd.h"
#include "client/client.h"

static json_t *capabilities(bool can_execute)
{
	return json_pack("{s:b,s:[s,s,s,s,s,s],s:[s,s,s,s],s:[s,s,s],s:b,s:b}", "codeExecution", can_execute,
	    "languages", "python", "javascript", "typescript", "bash", "r", "java", "actions", "EXECUTE_CODE",
	    "MANAGE_SANDBOX", "INSTALL_PACKAGES", "GIT", "packageManagers", "pip", "npm", "apt", "fileOperations",
	    can_execute, "internet", can_execute);
}

static json_t *limits_json(void)
{
	const struct atoll_agent_settings *s = state()->settings;

	return json_pack("{s:I,s:I,s:I,s:s}", "sessionTimeoutMs", (json_int_t)s->session_timeout_ms,
	    "maxConcurrentSessions", (json_int_t)s->max_sessions, "timeoutMs", (json_int_t)s->retry.timeout_ms,
	    "environment", s->environment);
}

static json_t *cache_json(void)
{
	struct atoll_cache_stats st;

	atoll_cache_stats(state()->cache, &st);
	return json_pack("{s:I,s:I,s:I,s:I}", "hits", (json_int_t)st.hits, "misses", (json_int_t)st.misses, "entries",
	    (json_int_t)st.entries, "bytes", (json_int_t)st.bytes);
}

void agent_state_get(struct agent_request *rq)
{
	char owner[STATE_OWNER_SIZE];
	struct atoll_error ae = { 0 };
	struct atoll_list *l = NULL;
	struct atoll *a = agent_request_client(rq, &ae);
	bool reached = a && atoll_list_sandboxes(a, &l, &ae) == 0,
	     healthy = reached && atoll_health(a, &ae) == 0 && state_can_execute(a, &ae);
	size_t running = 0, n = reached ? l->n : 0;
	autobuf struct buf text = BUF_INIT(64 * 1024);

	state_owner(&rq->who, owner);
	size_t sessions = atoll_sessions_list(state()->sessions, owner, NULL, 0);

	for (size_t i = 0; i < n; i++)
		running += strcmp(l->v[i].state, "running") == 0;
	if (healthy)
		buf_fmt(&text, "Code can be run in sandboxes. %zu of %zu sandboxes are running, %zu sessions are open.",
		    running, n, sessions);
	else
		buf_fmt(&text, "Code cannot be run at the moment: %s", ae.text);
	agent_request_json(rq, 200,
	    json_pack("{s:s,s:b,s:b,s:{s:I,s:I,s:I},s:o,s:o,s:o,s:s,s:o,s:s}", "text", buf_cstr(&text),
		"canExecuteCode", healthy, "isHealthy", healthy, "counts", "sandboxes", (json_int_t)n, "running",
		(json_int_t)running, "sessions", (json_int_t)sessions, "sandboxes",
		reached ? agent_sandbox_rows(l) : json_array(), "capabilities", capabilities(healthy), "limits",
		limits_json(), "breaker", a ? atoll_breaker_state(a->breaker) : "closed", "cache", cache_json(),
		"status", healthy ? "ok" : "degraded"));
	atoll_list_free(l);
}

/* --- for Prometheus --- */

static void put_counter(struct buf *out, const char *name, const char *help, uint64_t value)
{
	buf_fmt(out, "# HELP %s %s\n# TYPE %s counter\n%s %" PRIu64 "\n", name, help, name, name, value);
}

static void put_executions(struct buf *out)
{
	static const struct {
		enum state_counter what;
		const char *outcome;
	} all[] = { { COUNT_OK, "ok" }, { COUNT_ERROR, "error" }, { COUNT_CACHED, "cached" },
		{ COUNT_FAILED, "failed" } };

	buf_z(out,
	    "# HELP atoll_agent_executions_total Code executions by outcome.\n# TYPE "
	    "atoll_agent_executions_total counter\n");
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		buf_fmt(out, "atoll_agent_executions_total{outcome=\"%s\"} %" PRIu64 "\n", all[i].outcome,
		    state_counted(all[i].what));
}

void agent_metrics(struct agent_request *rq)
{
	autobuf struct buf out = BUF_INIT(64 * 1024);
	struct atoll_cache_stats st;

	atoll_cache_stats(state()->cache, &st);
	put_executions(&out);
	put_counter(&out, "atoll_agent_messages_total", "Messages processed.", state_counted(COUNT_MESSAGES));
	put_counter(&out, "atoll_agent_refused_total", "Operations refused by the policy.",
	    state_counted(COUNT_REFUSED));
	put_counter(&out, "atoll_agent_warned_total", "Operations the policy flagged but allowed.",
	    state_counted(COUNT_WARNED));
	put_counter(&out, "atoll_agent_recovered_total", "Sessions that continued in a new sandbox.",
	    state_counted(COUNT_RECOVERED));
	put_counter(&out, "atoll_agent_cache_hits_total", "Results served from the cache.", st.hits);
	put_counter(&out, "atoll_agent_cache_misses_total", "Results that were not in the cache.", st.misses);
	buf_fmt(&out,
	    "# HELP atoll_agent_cache_bytes Size of the cache.\n# TYPE atoll_agent_cache_bytes "
	    "gauge\natoll_agent_cache_bytes %zu\n",
	    st.bytes);
	buf_fmt(&out,
	    "# HELP atoll_agent_breaker_open Callers whose circuit breaker is not closed.\n# TYPE "
	    "atoll_agent_breaker_open gauge\natoll_agent_breaker_open %zu\n",
	    clients_broken());
	agent_request_text(rq, 200, "text/plain; version=0.0.4", NULL, buf_view(&out));
}
