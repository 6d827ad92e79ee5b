/* SPDX-License-Identifier: Apache-2.0 */
/* agent/run: runs code in a session. */
#include "agent/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/request.h"
#include "agent/state.h"
#include "base/fd.h"
#include "client/client.h"
#include "http/json.h"

static int failed(struct agent_request *rq, const struct atoll_error *ae, const char *session_id, const char *language,
    struct str code, unsigned timeout_ms, struct run_outcome *ret)
{
	struct atoll_failure f;

	atoll_failure_of(ae, session_id, "run code", timeout_ms, &f);
	f.code = code.p;
	autofree char *text = atoll_failure_json(&f);

	ret->away = f.transport;
	ret->json = json_pack("{s:b,s:s*,s:n,s:[],s:{s:[],s:[]},s:o*}", "success", 0, "language", language, "text",
	    "results", "logs", "stdout", "stderr", "error", text ? json_loads(text, 0, NULL) : NULL);
	state_count(COUNT_FAILED);
	if (language)
		state_executed(rq, session_id, language, code, f.type);
	return f.transport                          ? 503
	    : ae->no == EINVAL                      ? 400
	    : ae->no == E2BIG                       ? 413
	    : ae->status == 429                     ? 429
	    : ae->no == ENOENT && ae->status == 404 ? 404
						    : 200;
}

static int refused(const struct atoll_verdict *verdict, const struct run_place *p, const char *language,
    const char *code, struct run_outcome *ret)
{
	json_t *error = json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:s?,s:s}", "name", "PolicyError", "type", "POLICY", "code",
	    code, "message", ATOLL_REFUSED, "cause", verdict->reason, "remedy",
	    "Use another approach: the rule names what is not allowed. Retrying the same code does not help.",
	    "sessionId", p->session_id, "context", "run code");

	(void)json_object_update_new(error,
	    json_pack("{s:s,s:s,s:s}", "rule", verdict->rule, "severity", atoll_severity_name(verdict->severity),
		"reason", verdict->reason));
	ret->json = json_pack("{s:b,s:s,s:n,s:[],s:{s:[],s:[]},s:o}", "success", 0, "language", language, "text",
	    "results", "logs", "stdout", "stderr", "error", error);
	return 403;
}

/* The main result as a top-level field, for clients that want only that. */
static void add_text(json_t *j)
{
	json_t *one;
	size_t i;

	(void)json_object_set_new(j, "text", json_null());
	json_array_foreach(json_object_get(j, "results"), i, one)
	{
		if (json_is_true(json_object_get(one, "is_main_result")) &&
		    json_is_string(json_object_get(one, "text")))
			(void)json_object_set(j, "text", json_object_get(one, "text"));
	}
}

/* The server reports code that exceeded the memory limit as an error of the code. It gets a remedy like other
 * failures. */
static void add_remedy(json_t *j, const char *session_id, const char *code)
{
	json_t *error = json_object_get(j, "error");
	const char *name = json_string_value(json_object_get(error, "name"));
	struct atoll_failure f;

	if (!name || strcmp(name, "MEMORY_LIMIT") != 0)
		return;
	struct atoll_error e = { .no = ENOMEM };

	(void)str_copy(e.text, sizeof e.text, str_of(json_text(error, "value")));
	atoll_failure_of(&e, session_id, "run code", 0, &f);
	f.code = code;
	autofree char *text = atoll_failure_json(&f);

	(void)json_object_update_new(error, text ? json_loads(text, 0, NULL) : NULL); /* beside value and traceback */
}

/* Adds the policy's warnings, and a note if the sandbox was replaced. */
static void add_more(json_t *j, const char *language, const struct atoll_session_result *r,
    const struct atoll_verdict *verdict)
{
	add_text(j);
	(void)json_object_set_new(j, "language", json_string(language));
	(void)json_object_set_new(j, "success", json_boolean(!json_is_object(json_object_get(j, "error"))));
	if (r->cached)
		(void)json_object_set_new(j, "cached", json_true());
	if (r->recovered)
		(void)json_object_set_new(j, "recovered",
		    json_pack("{s:s,s:b,s:s}", "strategy", "SANDBOX_UNAVAILABLE", "fromSnapshot", r->from_snapshot,
			"note",
			r->from_snapshot ? "The previous sandbox was gone. The code ran in a new one with the files of "
					   "the last snapshot; variables are lost."
					 : "The previous sandbox was gone. The code ran in a new, empty one; variables "
					   "and files are lost."));
	if (verdict->severity != ATOLL_SEVERITY_NONE)
		(void)json_object_set_new(j, "warning",
		    json_pack("{s:s,s:s,s:s}", "rule", verdict->rule, "severity",
			atoll_severity_name(verdict->severity), "reason", verdict->reason));
}

/* A context keeps its working directory between runs, so it is changed before the code runs. Only a failure is
 * reported. 1: changed. */
static int go_to(struct run_place *p, const char *language, unsigned timeout_ms, struct atoll_session_result *r,
    struct atoll_error *ae)
{
	autofree char *code = NULL;

	if (!p->dir)
		return 1;
	if (client_chdir_code(language, p->dir, &code, ae) < 0)
		return -ae->no;
	const struct atoll_code what = { .code = code, .language = language, .timeout_ms = timeout_ms };

	if (atoll_session_run(state()->sessions, p->a, p->owner, p->session_id, &what, NULL, r, ae) < 0)
		return -ae->no;
	autojson json_t *j = json_loads(r->json, 0, NULL);

	if (json_is_object(json_object_get(j, "error")))
		return 0;
	atoll_session_result_done(r);
	return 1;
}

int run_in_session(struct agent_request *rq, struct run_place *p, const char *language, const char *code,
    unsigned timeout_ms, struct run_outcome *ret)
{
	struct atoll_session_result r = { 0 };
	struct atoll_error ae = { 0 };
	struct atoll_verdict verdict;
	const char *name = NULL;
	autofree char *text = NULL;

	*ret = (struct run_outcome) { 0 };
	if (atoll_prepare_code(language, code, &name, &text, &ae) < 0)
		return failed(rq, &ae, p->session_id, NULL, str_of(code), 0, ret);
	atoll_policy_code(state()->settings->policy, state_policy_key(&rq->who), name, text, &verdict);
	if (state_refuses(rq, &verdict, "EXECUTE_CODE", p->session_id))
		return refused(&verdict, p, name, code, ret);
	if (p->make && p->make(p, &ae) < 0)
		return failed(rq, &ae, p->session_id, NULL, str_of(code), 0, ret);
	/* The result of the prepended imports is not cached. */
	const char *run = atoll_cache_enabled(state()->cache, p->session_id) && atoll_code_pure(name, code) ? code
													    : text;
	const struct atoll_code what = { .code = run, .language = name, .timeout_ms = timeout_ms };

	int there = go_to(p, name, timeout_ms, &r, &ae);

	if (there < 0 ||
	    (there && atoll_session_run(state()->sessions, p->a, p->owner, p->session_id, &what, NULL, &r, &ae) < 0))
		return failed(rq, &ae, p->session_id, name, str_of(code), timeout_ms, ret);
	ret->json = json_loads(r.json, 0, NULL);
	if (ret->json) {
		add_remedy(ret->json, p->session_id, code);
		add_more(ret->json, name, &r, &verdict);
	}
	ret->success = json_is_true(json_object_get(ret->json, "success"));
	state_count(r.cached ? COUNT_CACHED : ret->success ? COUNT_OK : COUNT_ERROR);
	if (r.recovered)
		state_count(COUNT_RECOVERED);
	state_executed(rq, p->session_id, name, str_of(code), r.cached ? "cached" : ret->success ? "ok" : "error");
	atoll_session_result_done(&r);
	return 200;
}
