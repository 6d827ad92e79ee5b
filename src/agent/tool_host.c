/* SPDX-License-Identifier: Apache-2.0 */
/* agent/tool_host: serves the tools at /agent/tools, and sets up what they run with. */
#include "agent/tool_host.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/clients.h"
#include "agent/request.h"
#include "agent/routes.h"
#include "agent/state.h"
#include "base/fd.h"
#include "client/client.h"
#include "http/json.h"
#include "http/url.h"
#include "mcp/fit.h"

int tool_host_open(struct err *e)
{
	clients_open(state()->sessions, state_owner,
	    &(struct atoll_breaker_config) { .failures = state()->settings->breaker_failures,
		.open_ms = state()->settings->breaker_open_ms });
	return tools_open(e);
}

static void on_audit(void *user, const char *kind, const char *sandbox, const char *session, json_t *fields)
{
	struct tool_request *tv = user;

	agent_request_audit(tv->v,
	    json_pack("{s:s,s:s*,s:s*,s:o}", "kind", kind, "sandbox", sandbox, "session",
		session && *session ? session : NULL, "fields", fields));
}

int tool_host_for(struct agent_request *rq, struct tool_host *ret, struct atoll_error *e)
{
	struct sandbox_cache *b = agent_request_cache(rq, e);

	if (!b)
		return -e->no;
	*ret = (struct tool_host) { .cache = b,
		.policy = state()->settings->policy,
		.key = state_policy_key(&rq->who),
		.url = rq->url,
		.environment = state()->settings->environment,
		.timeout_ms = state()->settings->retry.timeout_ms,
		.retry = &state()->settings->retry,
		.redact = state()->settings->redact,
		.breaker = sandbox_cache_client(b)->breaker,
		.breaks_inside = true,
		.audit = on_audit };
	return 0;
}

/* --- /agent/tools -------------------------------------------------------------------------------------------- */

bool agent_tools_quick(const struct agent_request *rq)
{
	(void)rq;
	return true;
}

void agent_tools(struct agent_request *rq)
{
	autofree char *format = NULL;
	json_t *list = NULL;

	if (query_get(str_of(rq->query), "format", &format) == 0)
		list = tools_list(format);
	else
		list = tools_list("mcp");
	if (list)
		agent_request_json(rq, 200, json_pack("{s:O}", "tools", list));
	else
		agent_request_error(rq, 400, "query 'format' must be mcp, openai or anthropic");
}

static bool is_stopped(void *user)
{
	return agent_request_gone(((struct tool_request *)user)->v);
}

/* The body holds the arguments; the response is an MCP CallToolResult. */
void agent_tool_call(struct agent_request *rq)
{
	const struct tool *t = tool_find(rq->param);
	struct tool_request tv = { .v = rq };
	struct tool_run r = { .tool = t, .agent = "tools", .stopped = is_stopped, .user = &tv };
	struct atoll_error e = { 0 };
	struct tool_host host;

	if (!t) {
		agent_request_error(rq, 404, "there is no tool '%.60s'", rq->param);
		return;
	}
	autojson json_t *args = agent_request_body(rq, true);

	if (!args)
		return;
	if (tool_host_for(rq, &host, &e) < 0) {
		agent_request_fail(rq, &e);
		return;
	}
	r.host = &host;
	r.args = args;
	json_t *result = tool_call(&r);

	(void)mcp_fit(result, MCP_ANSWER_FIT);
	agent_request_json(rq, 200, result);
}

/* --- /agent/tool-records ------------------------------------------------------------------------------------- */

static bool is_word(const char *z, size_t max)
{
	return z && *z && strlen(z) <= max &&
	    z[strspn(z, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")] == '\0';
}

static bool is_one_of(const char *z, const char *const *all)
{
	while (z && *all && strcmp(*all, z) != 0)
		all++;
	return z && *all;
}

/* Copies the fields of a record. Values come from fixed lists, so that a client cannot write arbitrary text into the
 * audit trail. */
static json_t *record_fields(const json_t *body, bool call, struct err *why)
{
	static const char *const outcomes[] = { "ok", "error", "refused", "cancelled", NULL },
				 *const severities[] = { "low", "medium", "high", "critical", NULL };
	const char *tool = NULL, *outcome = NULL, *rule = NULL, *severity = NULL;
	int64_t ms = 0;

	if (json_need_str(body, "tool", &tool, why) < 0 || json_get_str(body, "outcome", &outcome, why) < 0 ||
	    json_get_str(body, "rule", &rule, why) < 0 || json_get_str(body, "severity", &severity, why) < 0 ||
	    json_get_int(body, "ms", 0, INT32_MAX, &ms, why) < 0)
		return NULL;
	if (!tool_find(tool))
		(void)err_set(why, EINVAL, "field 'tool' is not the name of a tool");
	else if (call && !is_one_of(outcome, outcomes))
		(void)err_set(why, EINVAL, "field 'outcome' must be ok, error, refused or cancelled");
	else if (!call && (!is_word(rule, 64) || !is_one_of(severity, severities)))
		(void)err_set(why, EINVAL, "fields 'rule' and 'severity' must be those of a rule of the policy");
	if (why->no)
		return NULL;
	return call
	    ? json_pack("{s:s,s:s,s:I,s:s}", "tool", tool, "outcome", outcome, "ms", (json_int_t)ms, "reportedBy",
		  "client")
	    : json_pack("{s:s,s:s,s:s,s:s}", "tool", tool, "rule", rule, "severity", severity, "reportedBy", "client");
}

/* `atoll mcp` runs tools in the caller's process, and reports them here. The key identifies the owner of the record.
 * The record is marked as reported by a client. */
void agent_tool_record(struct agent_request *rq)
{
	static const char *const known[] = { "kind", "tool", "outcome", "ms", "rule", "severity", "sandbox", "session",
		NULL };
	static const char *const kinds[] = { "mcp.tool", "agent.refused", "agent.warned", NULL };
	autojson json_t *body = agent_request_body(rq, false);
	const char *kind = NULL, *sandbox = NULL, *session = NULL;
	struct err why = ERR_INIT;

	if (!body)
		return;
	if (json_only(body, known, &why) == 0 && json_need_str(body, "kind", &kind, &why) == 0 &&
	    json_get_str(body, "sandbox", &sandbox, &why) == 0)
		(void)json_get_str(body, "session", &session, &why);
	if (!why.no && !is_one_of(kind, kinds))
		(void)err_set(&why, EINVAL, "field 'kind' must be mcp.tool, agent.refused or agent.warned");
	if (!why.no && ((sandbox && !is_word(sandbox, 63)) || (session && !is_word(session, 63))))
		(void)err_set(&why, EINVAL, "field '%s' is not an id",
		    sandbox && !is_word(sandbox, 63) ? "sandbox" : "session");
	json_t *fields = why.no ? NULL : record_fields(body, strcmp(kind, "mcp.tool") == 0, &why);

	if (!fields) {
		agent_request_error(rq, why.no ? 400 : 503, "%s", why.no ? why.text : "out of memory");
		return;
	}
	agent_request_audit(rq,
	    json_pack("{s:s,s:s*,s:s*,s:o}", "kind", kind, "sandbox", sandbox, "session", session, "fields", fields));
	agent_request_text(rq, 204, NULL, NULL, STR_NULL);
}
