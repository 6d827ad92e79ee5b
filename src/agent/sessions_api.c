/* SPDX-License-Identifier: Apache-2.0 */
/* agent/sessions_api: creates, lists, inspects and ends sessions over HTTP, and runs code in them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/request.h"
#include "agent/routes.h"
#include "agent/run.h"
#include "agent/state.h"
#include "base/fd.h"
#include "client/client.h"
#include "http/json.h"

#define LIST_MAX 1000
#define ENVS_MAX 256

static const char *const create_fields[] = { "agentId", "userId", "environment", "resourceLimits", "alertThresholds",
	"envs", "cache", "getOrCreate", NULL };
static const char *const execute_fields[] = { "code", "language", "timeout", "timeout_ms", "timeoutMs",
	"workingDirectory", NULL };

json_t *agent_session_json(const struct atoll_session *s)
{
	autofree char *text = atoll_session_json(s);

	return text ? json_loads(text, 0, NULL) : NULL;
}

/* Reads the timeout, in milliseconds, under any of its names. */
int take_timeout(const json_t *body, int64_t *ret, struct err *why)
{
	static const char *const names[] = { "timeout_ms", "timeoutMs", "timeout" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (json_object_get(body, names[i]))
			return json_get_int(body, names[i], 1, 86400000, ret, why);
	}
	return 0;
}

static void session_refuse(struct agent_request *rq, const struct err *why)
{
	agent_request_error(rq, 400, "%s", why->text);
}

void agent_sessions_list(struct agent_request *rq)
{
	char owner[STATE_OWNER_SIZE];
	struct atoll_session *all = calloc(LIST_MAX, sizeof *all);
	json_t *list = json_array();

	state_owner(&rq->who, owner);
	(void)atoll_sessions_expire(state()->sessions, NULL, owner);
	size_t n = all ? atoll_sessions_list(state()->sessions, owner, all, LIST_MAX) : 0;

	for (size_t i = 0; i < n && i < LIST_MAX; i++)
		(void)json_array_append_new(list, agent_session_json(&all[i]));
	free(all);
	agent_request_json(rq, 200, list);
}

/* Some fields of a session have a second name, that of the sandbox's field. */
static void call_by_name(struct atoll_error *e, const char *theirs, const char *ours)
{
	char head[64], text[sizeof e->text];

	(void)snprintf(head, sizeof head, "field '%s'", theirs);
	if (strncmp(e->text, head, strlen(head)) != 0)
		return;
	(void)snprintf(text, sizeof text, "field '%s'%s", ours, e->text + strlen(head));
	memcpy(e->text, text, sizeof text);
}

void agent_sessions_create(struct agent_request *rq)
{
	autojson json_t *body = agent_request_body(rq, true);
	char owner[STATE_OWNER_SIZE];
	struct atoll_session_spec spec = { .owner = owner };
	struct atoll_session s;
	struct atoll_error ae = { 0 };
	struct err why = ERR_INIT;
	json_t *limits = NULL, *envs = NULL, *alerts = NULL;
	struct atoll_pair pairs[ENVS_MAX];
	bool reuse = false;

	if (!body)
		return;
	state_owner(&rq->who, owner);
	if (json_only(body, create_fields, &why) < 0 || json_get_str(body, "agentId", &spec.agent_id, &why) < 0 ||
	    json_get_str(body, "userId", &spec.user_id, &why) < 0 ||
	    json_get_str(body, "environment", &spec.environment, &why) < 0 ||
	    json_get_obj(body, "resourceLimits", &limits, &why) < 0 ||
	    json_get_obj(body, "alertThresholds", &alerts, &why) < 0 ||
	    json_get_bool(body, "cache", &spec.cache, &why) < 0 ||
	    json_get_bool(body, "getOrCreate", &reuse, &why) < 0 || json_get_obj(body, "envs", &envs, &why) < 0 ||
	    (envs && json_check_str_map(envs, "envs", &why) < 0)) {
		session_refuse(rq, &why);
		return;
	}
	if (!spec.agent_id) {
		spec.agent_id = STATE_AGENT;
		spec.scope = rq->who.key_name;
	}
	struct atoll *a = agent_request_client(rq, &ae);
	const char *name;
	json_t *value;

	if (json_object_size(envs) > ENVS_MAX) {
		agent_request_error(rq, 400, "field 'envs' has more than %d variables", ENVS_MAX);
		return;
	}
	json_object_foreach(envs, name, value)
	    pairs[spec.n_envs++] = (struct atoll_pair) { name, json_string_value(value) };
	spec.envs = pairs;
	if (!a || client_resources(limits, &spec.limits, &ae) < 0 || client_thresholds(alerts, &spec.alerts, &ae) < 0) {
		agent_request_fail(rq, &ae);
		return;
	}
	bool made = false;

	if (state_session(a, &spec, reuse, &s, &made, &ae) < 0) {
		call_by_name(&ae, "templateID", "environment");
		call_by_name(&ae, "envVars", "envs");
		agent_request_fail(rq, &ae);
	} else {
		agent_request_json(rq, made ? 201 : 200, agent_session_json(&s));
	}
}

void agent_session_get(struct agent_request *rq)
{
	char owner[STATE_OWNER_SIZE];
	struct atoll_session s;
	struct atoll_error ae;

	state_owner(&rq->who, owner);
	if (atoll_session_get(state()->sessions, owner, rq->param, &s, &ae) < 0)
		agent_request_fail(rq, &ae);
	else
		agent_request_json(rq, 200, agent_session_json(&s));
}

void agent_session_delete(struct agent_request *rq)
{
	char owner[STATE_OWNER_SIZE];
	struct atoll_error ae = { 0 };
	struct atoll *a = agent_request_client(rq, &ae);

	state_owner(&rq->who, owner);
	if (!a || atoll_session_destroy(state()->sessions, a, owner, rq->param, &ae) < 0)
		agent_request_fail(rq, &ae);
	else
		agent_request_text(rq, 204, NULL, NULL, STR_NULL);
}

void agent_session_execute(struct agent_request *rq)
{
	autojson json_t *body = agent_request_body(rq, false);
	char owner[STATE_OWNER_SIZE];
	const char *code = NULL, *language = NULL, *dir = NULL;
	int64_t timeout = state()->settings->retry.timeout_ms;
	struct atoll_session s;
	struct atoll_error ae = { 0 };
	struct err why = ERR_INIT;

	if (!body)
		return;
	state_owner(&rq->who, owner);
	if (json_only(body, execute_fields, &why) < 0 || json_need_str(body, "code", &code, &why) < 0 ||
	    json_get_str(body, "workingDirectory", &dir, &why) < 0 ||
	    json_get_str(body, "language", &language, &why) < 0 || take_timeout(body, &timeout, &why) < 0) {
		session_refuse(rq, &why);
		return;
	}
	struct atoll *a = agent_request_client(rq, &ae);

	if (!a || atoll_session_get(state()->sessions, owner, rq->param, &s, &ae) < 0) {
		agent_request_fail(rq, &ae);
		return;
	}
	struct run_outcome out = { 0 };
	if (!language && strncmp(code, "```", 3) != 0)
		language = "python";
	struct run_place place = { .a = a, .owner = owner, .session_id = s.id, .dir = dir };
	int status = run_in_session(rq, &place, language, code, (unsigned)timeout, &out);

	agent_request_json(rq, status, out.json);
}

/* --- usage --- */

static void add_alert(json_t *alerts, const char *what, unsigned percent, uint64_t used, uint64_t total)
{
	if (total > 0 && used * 100 >= total * percent)
		(void)json_array_append_new(alerts,
		    json_pack("{s:s,s:I,s:I}", "resource", what, "percent", (json_int_t)(used * 100 / total),
			"threshold", (json_int_t)percent));
}

static json_t *usage_json(const struct atoll_session *s, const struct atoll_point *p)
{
	json_t *alerts = json_array();

	if (p) {
		add_alert(alerts, "memory", s->alerts.memory, p->mem_used, p->mem_total);
		add_alert(alerts, "diskSpace", s->alerts.disk, p->disk_used, p->disk_total);
		add_alert(alerts, "cpu", s->alerts.cpu, (uint64_t)(p->cpu_pct * 10), s->limits.cpu_permille);
	}
	return json_pack("{s:s,s:s,s:s*,s:f,s:I,s:I,s:I,s:I,s:I,s:o}", "sessionId", s->id, "sandboxId", s->sandbox_id,
	    "at", p ? p->at : NULL, "cpuPercent", p ? p->cpu_pct : 0, "memoryUsed", (json_int_t)(p ? p->mem_used : 0),
	    "memoryTotal", (json_int_t)(p ? p->mem_total : 0), "diskUsed", (json_int_t)(p ? p->disk_used : 0),
	    "diskTotal", (json_int_t)(p ? p->disk_total : 0), "processes", (json_int_t)(p ? p->pids : 0), "alerts",
	    alerts);
}

void agent_session_usage(struct agent_request *rq)
{
	char owner[STATE_OWNER_SIZE];
	struct atoll_session s;
	struct atoll_points *points = NULL;
	struct atoll_error ae = { 0 };
	struct atoll *a = agent_request_client(rq, &ae);

	state_owner(&rq->who, owner);
	if (!a || atoll_session_get(state()->sessions, owner, rq->param, &s, &ae) < 0 ||
	    atoll_metrics_latest(a, (const char *const[]) { s.sandbox_id }, 1, &points, &ae) < 0) {
		agent_request_fail(rq, &ae);
		return;
	}
	agent_request_json(rq, 200, usage_json(&s, points->n ? &points->v[0] : NULL));
	atoll_points_free(points);
}
