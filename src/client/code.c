/* SPDX-License-Identifier: Apache-2.0 */
/* client/code: runs code in a sandbox, in one blocking call or step by step with polling. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "client/client.h"
#include "client/execution.h"
#include "http/json.h"

#define TIMEOUT_MS 60000u

struct atoll_run {
	struct atoll_sandbox *sb;
	struct call c;
	char *text; /* request body; curl reads it */
	struct execution *x;
	int fed;      /* last result of execution_feed() */
	CURLM *multi; /* NULL for a blocking call */
	bool ended;
	int result; /* of the run; on failure, see error */
	struct atoll_error error;
};

static int on_bytes(void *user, const void *p, size_t n)
{
	struct atoll_run *r = user;

	r->fed = execution_feed(r->x, p, n);
	return r->fed;
}

static json_t *request(const struct atoll_code *code, struct atoll_error *e)
{
	json_t *envs,
	    *body = json_pack("{s:s,s:s*,s:s*}", "code", code->code, "context_id", code->context_id, "language",
		code->language);

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

static int put_headers(struct call *c, struct atoll_sandbox *sb, bool has_body)
{
	c->log.sandbox = sb->id;
	if (!c->path || (has_body && call_header(c, "Content-Type: application/json") < 0))
		return -ENOMEM;
	return call_header_sandbox(c, sb, CODE_PORT);
}

int code_call(struct atoll_sandbox *sb, struct call *c, const json_t *body, struct atoll_error *e)
{
	autofree char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;

	if ((body && !text) || put_headers(c, sb, body != NULL) < 0)
		return client_no_memory(e);
	c->body = str_of(text);
	return call_run(sb->a, c, e);
}

/* --- one run --- */

static int run_init(struct atoll_run *r, struct atoll_sandbox *sb, const struct atoll_code *given,
    const struct atoll_code_events *given_on, bool keep, struct atoll_error *e)
{
	struct atoll_code_events on = { 0 };
	struct atoll_code code;

	*r = (struct atoll_run) { .sb = sb, .c = CALL_INIT("POST", sb->code_url, "/execute") };
	if (TAKE_IN(&code, given, e) < 0 || (given_on && TAKE_IN(&on, given_on, e) < 0))
		return -e->no;
	if (!code.code || (code.n_envs > 0 && !code.envs))
		return client_fail(e, EINVAL, 0, "the code is NULL, or the variables are missing");
	if (code.language && code.context_id)
		return client_fail(e, EINVAL, 0,
		    "a language and a context are both set: a context has its own language");
	autojson json_t *body = request(&code, e);
	if (!body)
		return -e->no;
	r->text = json_dumps(body, JSON_COMPACT);
	r->x = execution_new(&on, !keep ? 0 : sb->a->keep_max ? EXECUTION_MAX / 4 : EXECUTION_MAX);
	if (r->x)
		execution_limit(r->x, sb->a->keep_max);
	if (!r->text || !r->x || put_headers(&r->c, sb, true) < 0)
		return client_no_memory(e);
	r->c.body = str_of(r->text);
	r->c.taker = on_bytes;
	r->c.taker_user = r;
	r->c.log.op = "run_code";
	r->c.timeout_ms = code.timeout_ms == ATOLL_NO_TIMEOUT ? 0
							      : (long)(code.timeout_ms ? code.timeout_ms : TIMEOUT_MS);
	return 0;
}

static void run_done(struct atoll_run *r)
{
	call_done(&r->c);
	execution_free(r->x);
	free(r->text);
}

static int explain(const struct atoll_run *r, const struct atoll_error *why, struct atoll_error *e)
{
	struct atoll_sandbox *sb = r->sb;

	switch (r->fed) {
	case 0:
		break;
	case -ECANCELED:
		return client_fail(e, ECANCELED, 0, "interrupted");
	case -EFBIG:
		return client_fail(e, EFBIG, 200, "the code produced more output than can be stored");
	case -ENOMEM:
		return client_no_memory(e);
	default:
		return client_fail(e, EPROTO, 200, "the response of %s is not that of an atoll or E2B server",
		    sb->code_url);
	}
	if (why->no == ECONNRESET)
		return client_broke(sb, "the code ended", e);
	if (why->no == ETIMEDOUT && why->status == 0)
		return client_fail(e, ETIMEDOUT, 0, "the code did not finish in time");
	if (why->status == 502)
		return client_fail(e, ESRCH, 502,
		    "sandbox '%s' has ended or is paused, or its template cannot run code", sb->id);
	*e = *why;
	return -e->no;
}

/* Finishes the run with the result in rc and why. */
static int run_end(struct atoll_run *r, int rc, const struct atoll_error *why, struct atoll_error *e)
{
	r->c.log.counted = "resultsCount";
	r->c.log.count = execution_results(r->x);
	if (rc < 0 || r->fed < 0)
		return explain(r, why, e);
	if (!execution_ended(r->x))
		return client_broke(r->sb, "the code ended", e);
	return execution_public(r->x) ? 0 : client_no_memory(e);
}

int atoll_run_code(struct atoll_sandbox *sb, const struct atoll_code *code, const struct atoll_code_events *on,
    struct atoll_execution **ret, struct atoll_error *e)
{
	NEED(e, sb && code);
	struct atoll_error why = { 0 };
	struct atoll_run r;
	int rc = run_init(&r, sb, code, on, ret != NULL, e);

	if (rc == 0) {
		rc = call_run(sb->a, &r.c, &why);
		rc = run_end(&r, rc, &why, e);
	}
	if (rc == 0 && ret)
		*ret = execution_public(take_ptr(&r.x));
	run_done(&r);
	return rc;
}

int atoll_notebook_exec_cell(struct atoll_sandbox *sb, const struct atoll_code *code,
    const struct atoll_code_events *on, struct atoll_execution **ret, struct atoll_error *e)
{
	return atoll_run_code(sb, code, on, ret, e);
}

/* --- non-blocking runs --- */

int atoll_run_start(struct atoll_sandbox *sb, const struct atoll_code *code, const struct atoll_code_events *on,
    struct atoll_run **ret, struct atoll_error *e)
{
	NEED(e, sb && code && ret);
	struct atoll_run *r = calloc(1, sizeof(*r));

	if (!r)
		return client_no_memory(e);
	int rc = run_init(r, sb, code, on, true, e);
	if (rc == 0) {
		r->multi = curl_multi_init();
		rc = r->multi ? client_call_begin(sb->a, &r->c, e) : client_no_memory(e);
	}
	if (rc == 0 && curl_multi_add_handle(r->multi, r->c.h) != CURLM_OK)
		rc = client_no_memory(e);
	if (rc < 0) {
		atoll_run_free(r);
		return rc;
	}
	*ret = r;
	return 0;
}

/* Advances the transfer without blocking, and stores the result when it is complete. */
static void drive(struct atoll_run *r)
{
	struct atoll_error why = { 0 };
	CURLMsg *m;
	int left;

	(void)curl_multi_perform(r->multi, &left);
	while (!r->ended && (m = curl_multi_info_read(r->multi, &left))) {
		if (m->msg != CURLMSG_DONE)
			continue;
		CURLcode rc = m->data.result;

		curl_multi_remove_handle(r->multi, r->c.h);
		r->ended = true;
		r->result = client_call_end(&r->c, rc, &why);
		r->result = run_end(r, r->result, &why, &r->error);
	}
}

int atoll_run_poll(struct atoll_run *r, struct pollfd *fds, size_t n_fds, int timeout_ms, struct atoll_error *e)
{
	NEED(e, r && (fds || n_fds == 0));
	if (n_fds > EXTRA_FDS_MAX)
		return client_fail(e, EINVAL, 0, "more than %d fds to wait for", EXTRA_FDS_MAX);
	if (!r->ended)
		drive(r);
	if (!r->ended && multi_wait(r->multi, fds, n_fds, timeout_ms) < 0)
		return client_fail(e, EIO, 0, "wait for %s", r->sb->code_url);
	if (!r->ended)
		drive(r);
	if (!r->ended)
		return 0;
	if (r->result < 0)
		*e = r->error;
	return r->result < 0 ? r->result : 1;
}

const struct atoll_execution *atoll_run_result(const struct atoll_run *r)
{
	return r && r->ended && r->result == 0 ? execution_public(r->x) : NULL;
}

void atoll_run_free(struct atoll_run *r)
{
	if (!r)
		return;
	bool runs = r->c.h != NULL;

	if (runs) { /* the server notices the disconnect */
		r->c.log.failed = ECANCELED;
		curl_multi_remove_handle(r->multi, r->c.h);
		handle_give(r->sb->a, take_ptr(&r->c.h));
	}
	curl_multi_cleanup(r->multi);
	if (runs)
		call_let_go(r->sb->a, false);
	run_done(r);
	free(r);
}
