/* SPDX-License-Identifier: Apache-2.0 */
/* agent/messages_api: POST /agent/messages. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/messages.h"
#include "agent/request.h"
#include "agent/routes.h"
#include "agent/run.h"
#include "http/json.h"

#define REPLY_MAX (8u * 1024 * 1024)

void message_say(struct message *m, const char *fmt, ...)
{
	char line[8192];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	buf_z(&m->reply, line);
	buf_ch(&m->reply, '\n');
}

void message_failed(struct message *m, const char *what, const struct atoll_error *e)
{
	struct atoll_failure f;

	atoll_failure_of(e, m->session.id, what, 0, &f);
	m->success = false;
	m->away |= f.transport;
	message_say(m, "Could not %s: %s. %s", what, f.cause, f.remedy);
}

struct atoll *message_client(struct message *m, struct atoll_error *e)
{
	if (!m->a)
		m->a = agent_request_client(m->v, e);
	return m->a;
}

int message_session(struct message *m, struct atoll_error *e)
{
	const struct atoll_session_spec spec = { .owner = m->owner,
		.agent_id = m->agent_id ? m->agent_id : STATE_AGENT,
		.user_id = m->user_id,
		.scope = m->agent_id ? NULL : m->v->who.key_name };

	bool made;

	if (!message_client(m, e))
		return -e->no;
	return *m->session.id ? 0 : state_session(m->a, &spec, true, &m->session, &made, e);
}

/* For an existing session. */
int message_sandbox(struct message *m, struct atoll_sandbox **ret, struct atoll_error *e)
{
	bool recovered = false;
	int rc = atoll_session_open(state()->sessions, m->a, m->owner, m->session.id, NULL, ret, &recovered, e);

	if (rc == 0 && !recovered && atoll_sandbox_running(*ret, e) == 0) {
		char gone[64];

		(void)snprintf(gone, sizeof gone, "%s", atoll_sandbox_id(*ret));
		atoll_sandbox_free(*ret);
		*ret = NULL;
		rc = atoll_session_open(state()->sessions, m->a, m->owner, m->session.id, gone, ret, &recovered, e);
	}
	if (rc == 0 && recovered)
		message_say(m, "The previous sandbox is gone; a new one is used.");
	return rc;
}

/* --- the request --- */

static int take_text(const json_t *body, const char **ret, struct err *why)
{
	const json_t *content = json_object_get(body, "content");

	if (json_is_object(content)) /* ElizaOS sends an object */
		return json_need_str(content, "text", ret, why);
	return json_need_str(body, "text", ret, why);
}

/* A session that is named must exist and belong to the caller. */
static int take_session(struct message *m, const json_t *body, struct atoll_error *e)
{
	const char *id = NULL;
	struct err why = ERR_INIT;

	if (json_get_str(body, "e2bSessionId", &id, &why) < 0 ||
	    (!id && json_get_str(body, "sessionId", &id, &why) < 0)) {
		*e = (struct atoll_error) { .no = EINVAL, .status = 400 };
		(void)snprintf(e->text, sizeof e->text, "%s", why.text);
		return -EINVAL;
	}
	return id ? atoll_session_get(state()->sessions, m->owner, id, &m->session, e) : 0;
}

static json_t *message_answer(struct message *m, const struct intents *l)
{
	json_t *actions = json_array();

	for (size_t i = 0; i < l->n; i++) {
		const char *name = intent_action(l->v[i].kind);
		bool there = false;

		for (size_t k = 0; k < json_array_size(actions); k++)
			there |= strcmp(json_string_value(json_array_get(actions, k)), name) == 0;
		if (!there)
			(void)json_array_append_new(actions, json_string(name));
	}
	if (m->reply.bad) {
		buf_clear(&m->reply);
		buf_z(&m->reply, "The reply is too long; data has all of it.");
	}
	while (m->reply.n > 0 && m->reply.p[m->reply.n - 1] == '\n')
		m->reply.n--;
	(void)json_object_set(m->data, "executionResults", m->executions);
	json_t *text = json_stringn(m->reply.p ? m->reply.p : "", m->reply.n);

	return json_pack("{s:o,s:o,s:{s:b},s:O,s:o,s:o,s:b,s:b}", "text",
	    text ? text : json_string("The reply is not valid UTF-8; see data."), "actions", actions, "values",
	    "success", l->n > 0 && m->success, "data", m->data, "e2bSessionId",
	    *m->session.id ? json_string(m->session.id) : json_null(), "workingDirectory",
	    m->dir ? json_string(m->dir) : json_null(), "dryRun", m->dry_run, "degraded", m->away);
}

static void work_off(struct message *m, const struct intents *l)
{
	if (l->n == 0)
		message_say(m,
		    "The message contains no request that is supported here: running code, sandboxes, packages or "
		    "git.");
	for (size_t i = 0; i < l->n && !agent_request_gone(m->v); i++) {
		if (l->n > 1)
			message_say(m, "%s%zu of %zu:", i ? "\n" : "", i + 1, l->n);
		message_do(m, &l->v[i]);
	}
	if (l->more) {
		m->success = false;
		message_say(m, "The message has more than %d requests; the rest was not run.", INTENTS_MAX);
	}
	if (m->away)
		message_say(m,
		    "Code cannot be run for now, because the server is unreachable; other requests are answered.");
}

void agent_messages(struct agent_request *rq)
{
	autojson json_t *body = agent_request_body(rq, false);
	struct message m = { .v = rq,
		.timeout_ms = state()->settings->retry.timeout_ms,
		.success = true,
		.reply = BUF_INIT(REPLY_MAX) };
	struct atoll_error ae = { 0 };
	struct err why = ERR_INIT;
	struct intents *l;
	const char *text = NULL;
	int64_t timeout = m.timeout_ms;

	if (!body)
		return;
	state_owner(&rq->who, m.owner);
	if (take_text(body, &text, &why) < 0 || json_get_str(body, "agentId", &m.agent_id, &why) < 0 ||
	    json_get_str(body, "userId", &m.user_id, &why) < 0 ||
	    json_get_str(body, "workingDirectory", &m.dir, &why) < 0 ||
	    json_get_bool(body, "dryRun", &m.dry_run, &why) < 0 || take_timeout(body, &timeout, &why) < 0) {
		agent_request_error(rq, 400, "%s", why.text);
		return;
	}
	if (take_session(&m, body, &ae) < 0) {
		agent_request_fail(rq, &ae);
		return;
	}
	l = calloc(1, sizeof *l);
	int rc = l ? intents_parse(str_of(text), l) : -ENOMEM;

	if (rc < 0) {
		agent_request_error(rq, rc == -E2BIG ? 413 : 500,
		    rc == -E2BIG ? "field 'text' is longer than %d bytes" : "out of memory", INTENT_TEXT_MAX);
		free(l);
		return;
	}
	state_count(COUNT_MESSAGES);
	m.timeout_ms = (unsigned)timeout;
	m.executions = json_array();
	m.data = json_object();
	work_off(&m, l);
	agent_request_json(rq, 200, message_answer(&m, l));
	intents_done(l);
	free(l);
	json_decref(m.executions);
	json_decref(m.data);
	buf_done(&m.reply);
}
