/* SPDX-License-Identifier: Apache-2.0 */
/* agent/state: settings, policy and sessions. */
#include "agent/state.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/request.h"
#include "agent/session_log.h"
#include "base/fd.h"
#include "base/log.h"
#include "client/agent/policy.h"
#include "client/agent/sessions.h"
#include "client/client.h"
#include "loop/loop.h"

#define EXPIRE_EVERY_MS 10000

static struct shared_state the;
static atomic_uint_fast64_t counts[COUNT_END];
static struct timer *expiry;

const struct shared_state *state(void)
{
	return &the;
}

void state_count(enum state_counter what)
{
	(void)atomic_fetch_add(&counts[what], 1);
}

uint64_t state_counted(enum state_counter what)
{
	return atomic_load(&counts[what]);
}

void state_owner(const struct caller *who, char ret[STATE_OWNER_SIZE])
{
	(void)snprintf(ret, STATE_OWNER_SIZE, "%.100s", who->team);
}

void state_disconnected(const struct caller *who, const char *agent)
{
	char owner[STATE_OWNER_SIZE];

	state_owner(who, owner);
	sessions_leave(the.sessions, owner, agent);
}

bool state_can_execute(const struct atoll *a, struct atoll_error *e)
{
	if (strcmp(atoll_breaker_state(a->breaker), "open") != 0)
		return true;
	*e = (struct atoll_error) { .no = EHOSTDOWN };
	(void)snprintf(e->text, sizeof e->text,
	    "running code failed several times in a row and is suspended for a while");
	return false;
}

struct attempt {
	int (*fn)(void *user, struct atoll_error *e);
	void *user;
};

static int state_attempt(void *user, bool *ret_begun, struct atoll_error *e)
{
	struct attempt *t = user;

	*ret_begun = true;
	return t->fn(t->user, e);
}

int state_try(struct atoll *a, int (*fn)(void *user, struct atoll_error *e), void *user, struct atoll_error *e)
{
	static const struct atoll_retry once = { sizeof once, 0, 0, 0 };

	return atoll_retry_run(&once, a->breaker, state_attempt, &(struct attempt) { fn, user }, NULL, e);
}

struct wanted {
	struct atoll *a;
	const struct atoll_session_spec *spec;
	bool get, made;
	struct atoll_session *ret;
};

static int make_session(void *user, struct atoll_error *e)
{
	struct wanted *w = user;
	int rc = w->get ? atoll_session_get_or_create(the.sessions, w->a, w->spec, w->ret, e)
			: atoll_session_create(the.sessions, w->a, w->spec, w->ret, e);

	w->made = rc > 0 || (rc == 0 && !w->get);
	return rc < 0 ? client_late(rc, e) : 0;
}

int state_session(struct atoll *a, const struct atoll_session_spec *spec, bool get, struct atoll_session *ret,
    bool *ret_made, struct atoll_error *e)
{
	struct wanted w = { .a = a, .spec = spec, .get = get, .ret = ret };
	int rc = state_try(a, make_session, &w, e);

	*ret_made = w.made;
	return rc;
}

const char *state_policy_key(const struct caller *who)
{
	const char *const names[] = { who->key_id, who->key_name, who->team };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (names[i][0] && policy_has_key(the.settings->policy, names[i]))
			return names[i];
	}
	return NULL;
}

/* No key is available here to kill the sandboxes. They end by their own timeouts, which are not longer. */
static void on_expiry(void *user)
{
	(void)user;
	(void)atoll_sessions_expire(the.sessions, NULL, NULL);
	timer_arm(expiry, EXPIRE_EVERY_MS);
}

static void wipe_free(char *envs)
{
	if (envs)
		explicit_bzero(envs, strlen(envs));
	free(envs);
}

static void on_created(void *user, const struct atoll_session *s)
{
	(void)user;
	char *envs = atoll_session_envs(the.sessions, s->owner, s->id);

	session_log_put(s);
	if (envs)
		(void)session_log_put_envs(s->id, envs);
	wipe_free(envs);
	log_info("session created", "session=%s sandbox=%s", s->id, s->sandbox_id);
}

static void on_changed(void *user, const struct atoll_session *s)
{
	(void)user;
	session_log_put(s);
}

static void on_destroyed(void *user, const struct atoll_session *s, const char *why)
{
	(void)user;
	session_log_remove(s);
	log_info("session ended", "session=%s sandbox=%s why=%s", s->id, s->sandbox_id, why);
}

static void state_adopt(void *user, const struct atoll_session *s)
{
	struct atoll_error ae;

	(void)user;
	if (atoll_sessions_adopt(the.sessions, s, &ae) < 0)
		log_warn("could not restore a session", "session=%s err=%s", s->id, ae.text);
	char *envs = session_log_envs(s->id);

	if (envs && atoll_session_set_envs(the.sessions, s->owner, s->id, envs, &ae) < 0)
		log_warn("could not restore the variables of a session", "session=%s err=%s", s->id, ae.text);
	wipe_free(envs);
}

int state_open(const char *state_dir, const char *config, struct loop *l, struct err *e)
{
	struct atoll_error ae = { 0 };

	if (atoll_agent_settings_load(config, &the.settings, &ae) < 0 || atoll_cache_new(0, &the.cache, &ae) < 0)
		return err_set(e, ae.no, "%s", ae.text);
	const struct atoll_sessions_config cfg = {
		.environment = the.settings->environment,
		.timeout_ms = the.settings->session_timeout_ms,
		.max_sessions = the.settings->max_sessions,
		.limits = the.settings->limits,
		.on_created = on_created,
		.on_destroyed = on_destroyed,
		.on_changed = on_changed,
		.cache = the.cache,
		.retry = &the.settings->retry,
		.redact = the.settings->redact,
		.alerts = the.settings->alerts,
	};

	if (atoll_sessions_new(&cfg, &the.sessions, &ae) < 0)
		return err_set(e, ae.no, "%s", ae.text);
	expiry = timer_new(l, on_expiry, NULL);
	if (!expiry)
		return err_set(e, ENOMEM, "create a timer");
	if (session_log_open(state_dir, state_adopt, NULL, e) < 0)
		return err_wrap(e, "open the session log");
	timer_arm(expiry, 0);
	return 0;
}

/* --- the audit log --- */

bool state_refuses(const struct agent_request *rq, const struct atoll_verdict *verdict, const char *what,
    const char *session_id)
{
	if (verdict->severity == ATOLL_SEVERITY_NONE)
		return false;
	state_count(verdict->allowed ? COUNT_WARNED : COUNT_REFUSED);
	agent_request_audit(rq,
	    json_pack("{s:s,s:s,s:s,s:s,s:b,s:s*}", "kind", "agent.violation", "what", what, "rule", verdict->rule,
		"severity", atoll_severity_name(verdict->severity), "allowed", verdict->allowed, "session",
		session_id));
	return !verdict->allowed;
}

void state_executed(const struct agent_request *rq, const char *session_id, const char *language, struct str code,
    const char *outcome)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	char hex[2 * EVP_MAX_MD_SIZE + 1] = "";
	unsigned n = 0;

	if (EVP_Digest(code.p ? code.p : "", code.n, digest, &n, EVP_sha256(), NULL) != 1)
		n = 0;
	for (unsigned i = 0; i < n; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	agent_request_audit(rq,
	    json_pack("{s:s,s:s*,s:s,s:s,s:I,s:s}", "kind", "agent.execution", "session", session_id, "language",
		language, "codeSha256", hex, "codeBytes", (json_int_t)code.n, "outcome", outcome));
}
