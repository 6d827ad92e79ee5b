/* SPDX-License-Identifier: Apache-2.0 */
/* client/agent/session_open: opens the sandbox of a session: the current one, resumed if it is paused, or a new one. */
#include "client/agent/sessions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "http/json.h"

#define EXTEND_EVERY_MS 30000
#define RUN_MARGIN_MS 60000 /* lifetime of a sandbox after the end of its last run */

/* A sandbox that does not respond may be paused. If so, resumes it, and nothing is lost. */
static bool wake(struct atoll *a, const char *sandbox_id, struct atoll_sandbox **ret)
{
	autofree char *path = api_path("/sandboxes/", sandbox_id, "");
	autocall struct call c = CALL_INIT("GET", a->api_url, path);
	autojson json_t *j = NULL;
	struct atoll_error e;

	return *sandbox_id && api_call(a, &c, &e) == 0 && call_json(&c, JSON_OBJECT, &j, &e) == 0 &&
	    strcmp(json_text(j, "state"), "paused") == 0 && atoll_sandbox_open(a, sandbox_id, ret, &e) == 0;
}

static int make_another(struct atoll_sessions *m, struct atoll *a, const struct atoll_session *pub, const char *envs,
    bool *ret_snapshot, struct atoll_sandbox **ret, struct atoll_error *e)
{
	char snapshot[128];

	sessions_last_snapshot(a, pub->sandbox_id, snapshot);
	int rc = sessions_make_sandbox(m, a, pub, *snapshot ? snapshot : pub->environment, envs, ret, e);

	*ret_snapshot = rc == 0 && *snapshot;
	return rc < 0 && *snapshot ? sessions_make_sandbox(m, a, pub, pub->environment, envs, ret, e) : rc;
}

/* Resumes the session's sandbox or creates a new one. Called with the lock held; releases it. */
static int recover(struct atoll_sessions *m, struct atoll *a, struct session *s, struct atoll_sandbox **ret,
    bool *ret_woken, struct atoll_error *e)
{
	struct atoll_session pub = s->pub;
	bool from_snapshot = false;
	char *envs = s->envs ? strdup(s->envs) : NULL;

	s->state = SESSION_MAKING;
	int rc = s->empty ? sessions_make_room(m, a, &pub, e) : 0;

	(void)pthread_mutex_unlock(&m->lock);
	*ret_woken = rc == 0 && wake(a, pub.sandbox_id, ret);
	if (rc == 0 && !*ret_woken)
		rc = make_another(m, a, &pub, envs, &from_snapshot, ret, e);

	session_envs_forget(envs);
	(void)pthread_mutex_lock(&m->lock);
	if (rc == 0 && !*ret_woken) {
		s->pub.recoveries++;
		s->from_snapshot = from_snapshot;
	} else if (rc < 0) {
		s->state = SESSION_READY; /* unchanged: the next call tries again */
		(void)pthread_cond_broadcast(&m->changed);
	}
	(void)pthread_mutex_unlock(&m->lock);
	if (rc < 0)
		return rc;
	if (m->cfg.cache && !*ret_woken)
		atoll_cache_written(m->cfg.cache, pub.id);
	if (sessions_settle(m, s, *ret, &pub) < 0) {
		atoll_sandbox_free(*ret);
		*ret = NULL;
		return client_no_memory(e);
	}
	if (m->cfg.on_changed)
		m->cfg.on_changed(m->cfg.user, &pub);
	return 0;
}

/* Returns the lifetime that the sandbox needs from now on if the next run may take run_ms, or 0 if it has enough.
 * Called with the lock held. */
static uint64_t more_time(struct atoll_sessions *m, struct session *s, uint64_t run_ms)
{
	int64_t now = sessions_now(m), since = now - s->extended_ms;
	uint64_t need = (run_ms < SESSIONS_TIMEOUT_MAX_MS ? run_ms : SESSIONS_TIMEOUT_MAX_MS) + RUN_MARGIN_MS,
		 ms = need > m->cfg.timeout_ms ? need : m->cfg.timeout_ms;

	if (since < EXTEND_EVERY_MS && since < (int64_t)m->cfg.timeout_ms / 4 &&
	    (need <= m->cfg.timeout_ms || now + (int64_t)need <= s->until_ms))
		return 0;
	s->extended_ms = now;
	if (now + (int64_t)ms > s->until_ms)
		s->until_ms = now + (int64_t)ms;
	return ms;
}

/* Extends the lifetime of the sandbox after use. It is never shortened, because something else may still run in the
 * sandbox. */
static void touch(struct atoll_sessions *m, struct atoll *a, const struct atoll_session *pub, uint64_t ms)
{
	struct atoll_error e = { 0 };

	if (ms == 0)
		return;
	/* If this exceeds the server's maximum, use the default of sessions. */
	if (client_extend(a, pub->sandbox_id, (unsigned)((ms + 999) / 1000), &e) == -EINVAL && ms > m->cfg.timeout_ms)
		(void)client_extend(a, pub->sandbox_id, (unsigned)((m->cfg.timeout_ms + 999) / 1000), &e);
	if (m->cfg.on_changed)
		m->cfg.on_changed(m->cfg.user, pub);
}

/* Opens the session's sandbox; makes no call if it is already known. */
static int open_there(struct atoll_sessions *m, struct atoll *a, struct atoll_session *pub, char *json,
    struct atoll_sandbox **ret, struct atoll_error *e)
{
	if (json)
		return client_sandbox_again(a, json, ret, e);
	int rc = atoll_sandbox_open(a, pub->sandbox_id, ret, e);

	if (rc < 0)
		return rc;
	(void)pthread_mutex_lock(&m->lock);
	struct session *s = sessions_find(m, pub->owner, pub->id);

	if (s && !s->json && strcmp(s->pub.sandbox_id, pub->sandbox_id) == 0)
		s->json = strdup(atoll_sandbox_json(*ret));
	(void)pthread_mutex_unlock(&m->lock);
	return 0;
}

/* Sets the session id, which the audit trail records for each call into the sandbox. */
static int name_session(struct atoll_sandbox **sb, const char *id, struct atoll_error *e)
{
	(*sb)->session = strdup(id);
	if ((*sb)->session)
		return 0;
	atoll_sandbox_free(*sb);
	*sb = NULL;
	return client_no_memory(e);
}

/* Replaces a sandbox that does not respond. Called with the lock held; releases it. */
static int open_another(struct atoll_sessions *m, struct atoll *a, struct session *s, uint64_t run_ms,
    struct atoll_sandbox **ret, bool *ret_recovered, struct atoll_error *e)
{
	struct atoll_session pub = s->pub;
	uint64_t ms = 0;
	bool woken = false;

	if (recover(m, a, s, ret, &woken, e) < 0)
		return -e->no;
	if (ret_recovered)
		*ret_recovered = !woken;
	(void)pthread_mutex_lock(&m->lock);
	s = sessions_find(m, pub.owner, pub.id);
	if (s) {
		s->extended_ms = woken ? 0 : s->extended_ms; /* resuming sets the default lifetime */
		ms = more_time(m, s, run_ms);
		pub = s->pub;
	}
	(void)pthread_mutex_unlock(&m->lock);
	touch(m, a, &pub, ms);
	return name_session(ret, pub.id, e);
}

int sessions_open(struct atoll_sessions *m, struct atoll *a, const char *owner, const char *id,
    const char *recovered_from, uint64_t run_ms, struct atoll_sandbox **ret, bool *ret_recovered, struct atoll_error *e)
{
	(void)atoll_sessions_expire(m, a, owner ? owner : "");
	(void)pthread_mutex_lock(&m->lock);
	struct session *s = sessions_find(m, owner, id);
	int rc = s ? sessions_wait_ready(m, s, e) : sessions_none(e, id);

	if (rc < 0) {
		(void)pthread_mutex_unlock(&m->lock);
		return rc;
	}
	s->pub.last_used_ms = sessions_now(m);
	s->left = false;
	if (a->holder)
		(void)str_copy(s->pub.holder, sizeof s->pub.holder, str_of(a->holder));
	if (recovered_from && strcmp(recovered_from, s->pub.sandbox_id) == 0)
		return open_another(m, a, s, run_ms, ret, ret_recovered, e);
	uint64_t ms = more_time(m, s, run_ms);
	struct atoll_session pub = s->pub;
	autofree char *json = s->json ? strdup(s->json) : NULL;

	(void)pthread_mutex_unlock(&m->lock);
	if (ret_recovered)
		*ret_recovered = recovered_from != NULL; /* another thread has already replaced it */
	rc = open_there(m, a, &pub, json, ret, e);
	if (rc == -ENOENT && !recovered_from)
		return sessions_open(m, a, owner, id, pub.sandbox_id, run_ms, ret, ret_recovered, e);
	if (rc < 0)
		return rc;
	touch(m, a, &pub, ms);
	return name_session(ret, id, e);
}

int atoll_session_open(struct atoll_sessions *m, struct atoll *a, const char *owner, const char *id,
    const char *recovered_from, struct atoll_sandbox **ret, bool *ret_recovered, struct atoll_error *e)
{
	NEED(e, m && a && id && ret);
	return sessions_open(m, a, owner, id, recovered_from, 0, ret, ret_recovered, e);
}

void atoll_session_written(struct atoll_sessions *m, const char *id)
{
	if (m->cfg.cache)
		atoll_cache_written(m->cfg.cache, id);
}

/* --- JSON output --- */

static json_t *size_json(uint64_t mb)
{
	char z[32];

	(void)snprintf(z, sizeof z, mb % 1024 == 0 ? "%lluGB" : "%lluMB",
	    (unsigned long long)(mb % 1024 == 0 ? mb / 1024 : mb));
	return json_string(z);
}

char *atoll_session_json(const struct atoll_session *s)
{
	char created[CLOCK_RFC3339_SIZE], used[CLOCK_RFC3339_SIZE];

	clock_rfc3339((uint64_t)s->created_ms, created);
	clock_rfc3339((uint64_t)s->last_used_ms, used);
	autojson json_t *j = json_pack("{s:s,s:s,s:s,s:o,s:s,s:s,s:s,s:{s:o,s:f,s:o}}", "sessionId", s->id, "sandboxId",
	    s->sandbox_id, "agentId", s->agent_id, "userId", *s->user_id ? json_string(s->user_id) : json_null(),
	    "createdAt", created, "lastUsed", used, "environment", s->environment, "resourceLimits", "memory",
	    size_json(s->limits.memory_mb), "cpu", s->limits.cpu_permille / 1000.0, "diskSpace",
	    size_json(s->limits.disk_mb));

	return j ? json_dumps(j, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(6)) : NULL;
}
