/* SPDX-License-Identifier: Apache-2.0 */
/* agent/tool_host: the tools as /agent/tools, and what they are given. */
#include "agent/tool_host.h"

#include <stdlib.h>
#include <string.h>

#include "agent/clients.h"
#include "agent/desk.h"
#include "agent/routes.h"
#include "agent/visit.h"
#include "base/fd.h"
#include "client/client.h"
#include "http/json.h"
#include "http/url.h"
#include "mcp/fit.h"

int tool_host_open(struct err *e)
{
	clients_open(desk()->sessions, desk_owner, &(struct atoll_breaker_config) { .failures = desk()->settings->breaker_failures, .open_ms = desk()->settings->breaker_open_ms });
	return tools_open(e);
}

static void on_audit(void *user, const char *kind, const char *sandbox, const char *session, json_t *fields)
{
	struct tool_visit *tv = user;

	visit_audit(tv->v, json_pack("{s:s,s:s*,s:s*,s:o}", "kind", kind, "sandbox", sandbox, "session", session && *session ? session : NULL,
		"fields", fields));
}

int tool_host_for(struct visit *v, struct tool_host *ret, struct atoll_error *e)
{
	struct boxes *b = visit_boxes(v, e);

	if (!b)
		return -e->no;
	*ret = (struct tool_host) { .boxes = b, .policy = desk()->settings->policy, .key = desk_policy_key(&v->who), .url = v->url, .environment = desk()->settings->environment,
		.timeout_ms = desk()->settings->retry.timeout_ms, .retry = &desk()->settings->retry, .redact = desk()->settings->redact, .breaker = boxes_client(b)->breaker,
		.breaks_inside = true, .audit = on_audit };
	return 0;
}

/* --- /agent/tools -------------------------------------------------------------------------------------------- */

bool agent_tools_quick(const struct visit *v)
{
	(void)v;
	return true;
}

void agent_tools(struct visit *v)
{
	autofree char *format = NULL;
	json_t *list = NULL;

	if (query_get(str_of(v->query), "format", &format) == 0)
		list = tools_list(format);
	else
		list = tools_list("mcp");
	if (list)
		visit_json(v, 200, json_pack("{s:O}", "tools", list));
	else
		visit_error(v, 400, "query 'format' must be mcp, openai or anthropic");
}

static bool is_stopped(void *user)
{
	return visit_gone(((struct tool_visit *)user)->v);
}

/* The body is the arguments; the answer is what MCP calls a tool's result. */
void agent_tool_call(struct visit *v)
{
	const struct tool *t = tool_find(v->param);
	struct tool_visit tv = { .v = v };
	struct tool_run r = { .tool = t, .agent = "tools", .stopped = is_stopped, .user = &tv };
	struct atoll_error e = { 0 };
	struct tool_host host;

	if (!t) {
		visit_error(v, 404, "there is no tool '%.60s'", v->param);
		return;
	}
	autojson json_t *args = visit_body(v, true);

	if (!args)
		return;
	if (tool_host_for(v, &host, &e) < 0) {
		visit_fail(v, &e);
		return;
	}
	r.host = &host;
	r.args = args;
	json_t *result = tool_call(&r);

	(void)mcp_fit(result, MCP_ANSWER_FIT);
	visit_json(v, 200, result);
}
