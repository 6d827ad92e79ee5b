/* SPDX-License-Identifier: Apache-2.0 */
/* client/code: code that runs in a sandbox, and the contexts that it runs in. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "client/client.h"
#include "client/execution.h"
#include "http/json.h"

#define TIMEOUT_MS 60000u

struct run {
	struct execution *x;
	int rc;
};

static int on_bytes(void *user, const void *p, size_t n)
{
	struct run *r = user;

	r->rc = execution_feed(r->x, p, n);
	return r->rc;
}

static json_t *request(const struct atoll_code *code, struct atoll_error *e)
{
	json_t *envs, *body = json_pack("{s:s,s:s*,s:s*}", "code", code->code, "context_id", code->context_id,
		"language", code->language);

	if (!body) {
		client_fail(e, EINVAL, 0, "the code or the name of its language or context is not valid UTF-8");
		return NULL;
	}
	if (code->n_envs == 0)
		return body;
	if (client_pairs_json(code->envs, code->n_envs, &envs, e) < 0) {
		json_decref(body);
		return NULL;
	}
	(void)json_object_set_new(body, "env_vars", envs);
	return body;
}

static int explain(struct atoll_sandbox *sb, const struct run *r, const struct atoll_error *why, struct atoll_error *e)
{
	switch (r->rc) {
	case 0:
		break;
	case -ECANCELED:
		return client_fail(e, ECANCELED, 0, "interrupted");
	case -EFBIG:
		return client_fail(e, EFBIG, 200, "the code gave more than is kept");
	case -ENOMEM:
		return client_no_memory(e);
	default:
		return client_fail(e, EPROTO, 200, "%s did not answer as an atoll or E2B server does", sb->code_url);
	}
	if (why->no == ECONNRESET)
		return client_broke(sb, "the code ended", e);
	if (why->no == ETIMEDOUT && why->status == 0)
		return client_fail(e, ETIMEDOUT, 0, "the code did not end in time");
	if (why->status == 502)
		return client_fail(e, ESRCH, 502, "sandbox '%s' has ended or is paused, or its template cannot run code", sb->id);
	*e = *why;
	return -e->no;
}

static int call_code(struct atoll_sandbox *sb, struct call *c, const json_t *body, struct atoll_error *e)
{
	autofree char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;

	if ((body && !text) || (body && call_header(c, "Content-Type: application/json") < 0) || !c->path ||
	    call_header_sandbox(c, sb, CODE_PORT) < 0)
		return client_no_memory(e);
	c->body = str_of(text);
	c->log.sandbox = sb->id;
	return call_run(sb->a, c, e);
}

int atoll_run_code(struct atoll_sandbox *sb, const struct atoll_code *given, const struct atoll_code_events *given_on,
		   struct atoll_execution **ret, struct atoll_error *e)
{
	NEED(e, sb && given);
	struct atoll_code code;
	struct atoll_code_events on = { 0 };
	struct atoll_error why = { 0 };

	if (TAKE_IN(&code, given, e) < 0 || (given_on && TAKE_IN(&on, given_on, e) < 0))
		return -e->no;
	if (!code.code || (code.n_envs > 0 && !code.envs))
		return client_fail(e, EINVAL, 0, "there is no code, or there are no variables");
	if (code.language && code.context_id)
		return client_fail(e, EINVAL, 0, "a language and a context were given: a context has its language");
	autojson json_t *body = request(&code, e);
	if (!body)
		return -e->no;

	autocall struct call c = CALL_INIT("POST", sb->code_url, "/execute");
	struct run r = { .x = execution_new(&on, ret ? EXECUTION_MAX : 0) };
	if (!r.x)
		return client_no_memory(e);
	c.taker = on_bytes;
	c.taker_user = &r;
	c.log.op = "run_code";
	c.timeout_ms = code.timeout_ms == ATOLL_NO_TIMEOUT ? 0 : (long)(code.timeout_ms ? code.timeout_ms : TIMEOUT_MS);
	int rc = call_code(sb, &c, body, &why);

	c.log.counted = "resultsCount";
	c.log.count = execution_results(r.x);

	if (rc < 0 || r.rc < 0)
		rc = explain(sb, &r, &why, e);
	else if (!execution_ended(r.x))
		rc = client_broke(sb, "the code ended", e);
	if (rc < 0 || !ret) {
		execution_free(r.x);
		return rc;
	}
	struct atoll_execution *x = execution_public(r.x);
	if (!x) {
		execution_free(r.x);
		return client_no_memory(e);
	}
	*ret = x;
	return 0;
}

/* --- contexts --- */

static void fill(struct kept *k, void *item, json_t *o)
{
	struct atoll_context *c = item;

	(void)k;
	*c = (struct atoll_context) { .id = json_text(o, "id"), .language = json_text(o, "language"), .cwd = json_text(o, "cwd") };
}

static int contexts_of(const struct call *c, json_type type, struct atoll_contexts **ret, struct atoll_error *e)
{
	json_t *answer = NULL;
	struct kept *k;

	if (call_json(c, type, &answer, e) < 0 || kept_new(answer, sizeof(struct atoll_context), fill, NULL, &k, e) < 0)
		return -e->no;
	*ret = &k->contexts;
	return 0;
}

int atoll_contexts_list(struct atoll_sandbox *sb, struct atoll_contexts **ret, struct atoll_error *e)
{
	NEED(e, sb && ret);
	autocall struct call c = CALL_INIT("GET", sb->code_url, "/contexts");

	return call_code(sb, &c, NULL, e) < 0 ? -e->no : contexts_of(&c, JSON_ARRAY, ret, e);
}

int atoll_context_create(struct atoll_sandbox *sb, const char *language, const char *cwd, struct atoll_contexts **ret,
			 struct atoll_error *e)
{
	NEED(e, sb && ret);
	autocall struct call c = CALL_INIT("POST", sb->code_url, "/contexts");
	autojson json_t *body = json_pack("{s:s*,s:s*}", "language", language, "cwd", cwd);

	if (!body)
		return client_fail(e, EINVAL, 0, "the language or directory is not valid UTF-8");
	return call_code(sb, &c, body, e) < 0 ? -e->no : contexts_of(&c, JSON_OBJECT, ret, e);
}

static int context_call(struct atoll_sandbox *sb, const char *method, const char *id, const char *tail, struct atoll_error *e)
{
	autofree char *path = api_path("/contexts/", id, tail);
	autocall struct call c = CALL_INIT(method, sb->code_url, path);

	if (!*id)
		return client_fail(e, EINVAL, 0, "the context id is empty");
	return call_code(sb, &c, NULL, e);
}

int atoll_context_restart(struct atoll_sandbox *sb, const char *id, struct atoll_error *e)
{
	NEED(e, sb && id);
	return context_call(sb, "POST", id, "/restart", e);
}

int atoll_context_remove(struct atoll_sandbox *sb, const char *id, struct atoll_error *e)
{
	NEED(e, sb && id);
	return context_call(sb, "DELETE", id, "", e);
}

void atoll_contexts_free(struct atoll_contexts *l)
{
	kept_free((struct kept *)l);
}
