/* SPDX-License-Identifier: Apache-2.0 */
/* client/agent/sessions: the list of sessions and their sandboxes.
 *
 * The lock is never held during a call to a server. A session whose sandbox is being created is in the list as
 * SESSION_MAKING, so that it counts towards the limit and a second caller waits for it instead of creating another. */
#include "client/agent/sessions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/rand.h"
#include "http/json.h"

#define TIMEOUT_MS 3600000u
#define SESSIONS_MAX 10
#define MEMORY_MB 512
#define CPU_PERMILLE 500
#define DISK_MB 1024
#define ALERT_PERCENT 80
/* After this time without use, a session that was not requested by name may lose its sandbox to another. */
#define IDLE_MS 60000

int64_t sessions_now(struct atoll_sessions *m)
{
	return m->cfg.now_ms ? m->cfg.now_ms(m->cfg.user) : (int64_t)clock_wall_ms();
}

static struct atoll_resources resources_or(struct atoll_resources r, struct atoll_resources otherwise)
{
	return (struct atoll_resources) {
		.memory_mb = r.memory_mb ? r.memory_mb : otherwise.memory_mb,
		.cpu_permille = r.cpu_permille ? r.cpu_permille : otherwise.cpu_permille,
		.disk_mb = r.disk_mb ? r.disk_mb : otherwise.disk_mb,
	};
}

static struct atoll_thresholds thresholds_or(struct atoll_thresholds t, struct atoll_thresholds otherwise)
{
	return (struct atoll_thresholds) {
		.memory = t.memory ? t.memory : otherwise.memory,
		.cpu = t.cpu ? t.cpu : otherwise.cpu,
		.disk = t.disk ? t.disk : otherwise.disk,
	};
}

int atoll_sessions_new(const struct atoll_sessions_config *cfg, struct atoll_sessions **ret, struct atoll_error *e)
{
	NEED(e, ret);
	struct atoll_sessions *m = calloc(1, sizeof *m);

	if (!m)
		return client_no_memory(e);
	if (cfg && TAKE_IN(&m->cfg, cfg, e) < 0) {
		free(m);
		return -e->no;
	}
	m->cfg.timeout_ms = m->cfg.timeout_ms ? m->cfg.timeout_ms : TIMEOUT_MS;
	m->cfg.max_sessions = m->cfg.max_sessions ? m->cfg.max_sessions : SESSIONS_MAX;
	m->cfg.limits = resources_or(m->cfg.limits, (struct atoll_resources) { MEMORY_MB, CPU_PERMILLE, DISK_MB });
	m->cfg.alerts = thresholds_or(m->cfg.alerts,
	    (struct atoll_thresholds) { ALERT_PERCENT, ALERT_PERCENT, ALERT_PERCENT });
	m->retry = m->cfg.retry ? *m->cfg.retry : ATOLL_RETRY_DEFAULT;
	m->environment = strdup(m->cfg.environment ? m->cfg.environment : ATOLL_TEMPLATE_DEFAULT);
	(void)pthread_mutex_init(&m->lock, NULL);
	(void)pthread_cond_init(&m->changed, NULL);
	if (!m->environment || m->cfg.timeout_ms < 1000 || m->cfg.timeout_ms > SESSIONS_TIMEOUT_MAX_MS) {
		int rc = m->environment
		    ? client_fail(e, EINVAL, 0, "sessionTimeout must be from 1000 to %u ms", SESSIONS_TIMEOUT_MAX_MS)
		    : client_no_memory(e);

		atoll_sessions_free(m);
		return rc;
	}
	*ret = m;
	return 0;
}

static void session_free(struct session *s)
{
	if (s->json)
		explicit_bzero(s->json, strlen(s->json));
	free(s->json);
	session_envs_forget(s->envs);
	secrets_done(&s->secrets);
	free(s);
}

void atoll_sessions_free(struct atoll_sessions *m)
{
	if (!m)
		return;
	for (struct session *s = m->all, *next; s; s = next) {
		next = s->next;
		session_free(s);
	}
	(void)pthread_cond_destroy(&m->changed);
	(void)pthread_mutex_destroy(&m->lock);
	free(m->environment);
	free(m);
}

/* --- the list; called with the lock held --- */

struct session *sessions_find(struct atoll_sessions *m, const char *owner, const char *id)
{
	for (struct session *s = m->all; s; s = s->next) {
		if (strcmp(s->pub.id, id) == 0 && strcmp(s->pub.owner, owner ? owner : "") == 0)
			return s;
	}
	return NULL;
}

static bool same_holder(const struct session *s, const struct atoll_session *as)
{
	return strcmp(s->pub.owner, as->owner) == 0 && strcmp(s->pub.holder, as->holder) == 0;
}

/* Counts the sessions of the holder of `as` that have a sandbox. */
static size_t count_of(const struct atoll_sessions *m, const struct atoll_session *as)
{
	size_t n = 0;

	for (const struct session *s = m->all; s; s = s->next)
		n += !s->empty && same_holder(s, as);
	return n;
}

/* Finds the session of this agent. Records of earlier versions have no scope and are matched by their holder. */
static struct session *find_agent(struct atoll_sessions *m, const struct atoll_session *as)
{
	for (struct session *s = m->all; s; s = s->next) {
		if (strcmp(s->pub.agent_id, as->agent_id) != 0 || strcmp(s->pub.owner, as->owner) != 0)
			continue;
		if (strcmp(s->pub.scope, as->scope) == 0 || (!*s->pub.scope && same_holder(s, as)))
			return s;
	}
	return NULL;
}

static void append(struct atoll_sessions *m, struct session *s)
{
	struct session **at = &m->all;

	while (*at)
		at = &(*at)->next;
	*at = s;
}

/* Removes the session from the list. It is freed now, or by the last thread that waits for it. */
static void take_out(struct atoll_sessions *m, struct session *s)
{
	struct session **at = &m->all;

	while (*at && *at != s)
		at = &(*at)->next;
	if (*at)
		*at = s->next;
	s->state = SESSION_GONE;
	(void)pthread_cond_broadcast(&m->changed);
	if (s->users == 0)
		session_free(s);
}

/* Waits until the session's sandbox is created. Returns -ENOENT if the session ended meanwhile; s may be freed then. */
int sessions_wait_ready(struct atoll_sessions *m, struct session *s, struct atoll_error *e)
{
	s->users++;
	while (s->state == SESSION_MAKING)
		(void)pthread_cond_wait(&m->changed, &m->lock);
	s->users--;
	if (s->state == SESSION_READY)
		return 0;
	if (s->users == 0)
		session_free(s);
	return client_fail(e, ENOENT, 404, "the session has ended");
}

int sessions_none(struct atoll_error *e, const char *id)
{
	return client_fail(e, ENOENT, 404, "there is no session '%.60s'", id);
}

/* --- sandboxes --- */

/* Gets the id of the latest snapshot of a sandbox, from which it can be recreated; "" if there is none. */
void sessions_last_snapshot(struct atoll *a, const char *sandbox_id, char ret[128])
{
	autofree char *path = api_path("/snapshots?limit=1&sandboxID=", sandbox_id, "");
	autocall struct call c = CALL_INIT("GET", a->api_url, path);
	autojson json_t *j = NULL;
	struct atoll_error e;

	ret[0] = '\0';
	if (*sandbox_id && api_call(a, &c, &e) == 0 && call_json(&c, JSON_ARRAY, &j, &e) == 0)
		(void)str_copy(ret, 128, str_of(json_text(json_array_get(j, 0), "snapshotID")));
}

int sessions_make_sandbox(struct atoll_sessions *m, struct atoll *a, const struct atoll_session *s,
    const char *template_id, const char *envs, struct atoll_sandbox **ret, struct atoll_error *e)
{
	struct session_envs with;
	char memory[32], cpus[32], disk[32];
	const struct atoll_pair limits[] = { { "memoryMB", memory }, { "cpus", cpus }, { "diskMB", disk } };
	const struct atoll_pair metadata[] = { { "session", s->id }, { "agent", s->agent_id }, { "user", s->user_id } };
	struct atoll_spec spec = {
		.template_id = template_id,
		.timeout_s = (unsigned)((m->cfg.timeout_ms + 999) / 1000),
		.metadata = metadata,
		.n_metadata = *s->user_id ? 3 : 2,
		.limits = limits,
		.n_limits = ARRAY_LEN(limits),
	};

	(void)snprintf(memory, sizeof memory, "%llu", (unsigned long long)s->limits.memory_mb);
	(void)snprintf(cpus, sizeof cpus, "%u.%03u", s->limits.cpu_permille / 1000, s->limits.cpu_permille % 1000);
	(void)snprintf(disk, sizeof disk, "%llu", (unsigned long long)s->limits.disk_mb);
	if (session_envs_for_sandbox(envs, &with, e) < 0)
		return -e->no;
	spec.envs = with.v;
	spec.n_envs = with.n;
	int rc = atoll_sandbox_create(a, &spec, ret, e);

	session_envs_done(&with);
	if (rc == -ETIMEDOUT)
		e->status = 504; /* no code runs yet, so the server was too slow */
	return rc;
}

/* Kills the sandbox, drops cached results and calls on_destroyed(). The session is already out of the list. */
static int end_session(struct atoll_sessions *m, struct atoll *a, const struct atoll_session *pub, const char *why,
    struct atoll_error *e)
{
	int rc = a && *pub->sandbox_id ? atoll_kill(a, pub->sandbox_id, e) : 0;

	if (m->cfg.cache)
		atoll_cache_written(m->cfg.cache, pub->id);
	if (m->cfg.on_destroyed)
		m->cfg.on_destroyed(m->cfg.user, pub, why);
	return rc == -ENOENT ? 0 : rc; /* -ENOENT: already ended */
}

/* --- evicting sessions --- */

/* Marks the sessions of an owner whose sandboxes have ended. Called with the lock held; releases it meanwhile. */
static void mark_empty(struct atoll_sessions *m, struct atoll *a, const char *owner)
{
	struct atoll_list *l = NULL;
	struct atoll_error e;

	(void)pthread_mutex_unlock(&m->lock);
	bool known = atoll_list_sandboxes(a, &l, &e) == 0;

	(void)pthread_mutex_lock(&m->lock);
	for (struct session *s = known ? m->all : NULL; s; s = s->next) {
		bool there = s->state != SESSION_READY || s->runs > 0 || strcmp(s->pub.owner, owner) != 0;

		for (size_t i = 0; i < l->n && !there; i++)
			there = strcmp(l->v[i].id, s->pub.sandbox_id) == 0;
		s->empty = s->empty || !there;
	}
	atoll_list_free(l);
}

/* Returns the next session that may lose its sandbox: one whose client has disconnected, else the least recently
 * used. */
static struct session *find_idle(struct atoll_sessions *m, const struct atoll_session *as)
{
	struct session *idle = NULL;

	for (struct session *s = m->all; s; s = s->next) {
		if (!s->pub.disposable || s->empty || s->state != SESSION_READY || s->runs > 0 || !same_holder(s, as))
			continue;
		if (!s->left && sessions_now(m) - s->pub.last_used_ms < IDLE_MS)
			continue;
		if (!idle || s->left > idle->left ||
		    (s->left == idle->left && s->pub.last_used_ms < idle->pub.last_used_ms))
			idle = s;
	}
	return idle;
}

/* Kills the sandbox of a session. If its client may come back, the session stays in the list: it then continues in a
 * new sandbox and reports this. Called with the lock held; releases it meanwhile. */
static void evict(struct atoll_sessions *m, struct atoll *a, struct session *s)
{
	struct atoll_session pub = s->pub;
	struct atoll_error e;
	bool left = s->left;

	if (left)
		take_out(m, s);
	else
		s->empty = true;
	(void)pthread_mutex_unlock(&m->lock);
	if (left)
		(void)end_session(m, a, &pub, "evicted", &e);
	else
		(void)atoll_kill(a, pub.sandbox_id, &e);
	(void)pthread_mutex_lock(&m->lock);
}

/* Makes room for the session `as` if the limit is reached. Called with the lock held; releases it meanwhile. */
int sessions_make_room(struct atoll_sessions *m, struct atoll *a, const struct atoll_session *as, struct atoll_error *e)
{
	for (bool looked = false; count_of(m, as) >= m->cfg.max_sessions; looked = true) {
		struct session *idle = looked ? find_idle(m, as) : NULL;

		if (idle)
			evict(m, a, idle);
		else if (looked)
			return client_fail(e, EDQUOT, 429, "session limit reached: at most %u sessions can be open",
			    m->cfg.max_sessions);
		else
			mark_empty(m, a, as->owner);
	}
	return 0;
}

/* --- creating and ending sessions --- */

static int check_text(const char *field, const char *z, bool needed, struct atoll_error *e)
{
	if (!z || !*z)
		return needed ? client_fail(e, EINVAL, 400, "%s is required", field) : 0;
	if (strlen(z) >= sizeof((struct atoll_session *)NULL)->agent_id)
		return client_fail(e, EINVAL, 400, "%s is longer than 127 bytes", field);
	for (; *z; z++) {
		if ((unsigned char)*z < 0x20 || *z == 0x7f)
			return client_fail(e, EINVAL, 400, "%s has a control character", field);
	}
	return 0;
}

static int session_new(struct atoll_sessions *m, const struct atoll *a, const struct atoll_session_spec *spec,
    struct session **ret, struct atoll_error *e)
{
	if (check_text("agentId", spec->agent_id, true, e) < 0 || check_text("userId", spec->user_id, false, e) < 0 ||
	    check_text("environment", spec->environment, false, e) < 0 ||
	    check_text("owner", spec->owner, false, e) < 0)
		return -e->no;
	struct session *s = calloc(1, sizeof *s);

	if (!s)
		return client_no_memory(e);
	if (session_envs_take(spec->envs, spec->n_envs, &s->envs, e) < 0) {
		free(s);
		return -e->no;
	}
	s->state = SESSION_MAKING;
	memcpy(s->pub.id, "ses_", 4);
	rand_hex(s->pub.id + 4, 24);
	(void)snprintf(s->pub.agent_id, sizeof s->pub.agent_id, "%s", spec->agent_id);
	(void)snprintf(s->pub.user_id, sizeof s->pub.user_id, "%s", spec->user_id ? spec->user_id : "");
	(void)snprintf(s->pub.owner, sizeof s->pub.owner, "%s", spec->owner ? spec->owner : "");
	(void)snprintf(s->pub.environment, sizeof s->pub.environment, "%s",
	    spec->environment && *spec->environment ? spec->environment : m->environment);
	(void)snprintf(s->pub.scope, sizeof s->pub.scope, "%s", spec->scope ? spec->scope : "");
	(void)snprintf(s->pub.holder, sizeof s->pub.holder, "%s", a->holder ? a->holder : "");
	s->pub.disposable = spec->disposable;
	s->pub.alerts = thresholds_or(spec->alerts, m->cfg.alerts);
	s->pub.limits = resources_or(spec->limits, m->cfg.limits);
	s->pub.created_ms = s->pub.last_used_ms = s->extended_ms = sessions_now(m);
	*ret = s;
	return 0;
}

/* Records the new sandbox of a session in the list. If sb is NULL, because none was created, removes the session. */
int sessions_settle(struct atoll_sessions *m, struct session *s, struct atoll_sandbox *sb, struct atoll_session *ret)
{
	char *json = sb ? strdup(atoll_sandbox_json(sb)) : NULL;

	(void)pthread_mutex_lock(&m->lock);
	if (!json) {
		take_out(m, s);
	} else {
		free(s->json);
		s->json = json;
		(void)str_copy(s->pub.sandbox_id, sizeof s->pub.sandbox_id, str_of(atoll_sandbox_id(sb)));
		s->extended_ms = sessions_now(m);
		s->until_ms = s->extended_ms + (int64_t)m->cfg.timeout_ms;
		s->state = SESSION_READY;
		s->empty = false;
		if (ret)
			*ret = s->pub;
		(void)pthread_cond_broadcast(&m->changed);
	}
	(void)pthread_mutex_unlock(&m->lock);
	return json ? 0 : -ENOMEM;
}

/* Creates the sandbox of a session that is already in the list. Called with the lock held; releases it. */
static int create_listed(struct atoll_sessions *m, struct atoll *a, struct session *s,
    const struct atoll_session_spec *spec, struct atoll_session *ret, struct atoll_error *e)
{
	struct atoll_session pub = s->pub;
	struct atoll_sandbox *sb = NULL;
	char *envs = s->envs ? strdup(s->envs) : NULL;

	(void)pthread_mutex_unlock(&m->lock);
	int rc = sessions_make_sandbox(m, a, &pub, pub.environment, envs, &sb, e);

	session_envs_forget(envs);

	if (sessions_settle(m, s, sb, &pub) < 0 && rc == 0)
		rc = client_no_memory(e);
	atoll_sandbox_free(sb);
	if (rc < 0)
		return rc;
	if (spec->cache && m->cfg.cache)
		(void)atoll_cache_enable(m->cfg.cache, pub.id, e);
	if (m->cfg.on_created)
		m->cfg.on_created(m->cfg.user, &pub);
	*ret = pub;
	return 0;
}

static int create(struct atoll_sessions *m, struct atoll *a, const struct atoll_session_spec *spec, bool get,
    struct atoll_session *ret, struct atoll_error *e)
{
	struct session *s = NULL, *there = NULL;
	int rc = 0;

	(void)atoll_sessions_expire(m, a, spec->owner ? spec->owner : "");
	if (session_new(m, a, spec, &s, e) < 0)
		return -e->no;
	(void)pthread_mutex_lock(&m->lock);
	there = get ? find_agent(m, &s->pub) : NULL;
	if (!there) {
		rc = sessions_make_room(m, a, &s->pub, e);
		there = get ? find_agent(m, &s->pub) : NULL; /* another thread may have created it meanwhile */
	}
	if (there || rc < 0) {
		rc = there ? sessions_wait_ready(m, there, e) : rc;
		if (rc == 0)
			*ret = there->pub;
		(void)pthread_mutex_unlock(&m->lock);
		session_free(s);
		return rc;
	}
	append(m, s);
	rc = create_listed(m, a, s, spec, ret, e);
	return rc < 0 ? rc : 1;
}

int atoll_session_create(struct atoll_sessions *m, struct atoll *a, const struct atoll_session_spec *spec,
    struct atoll_session *ret, struct atoll_error *e)
{
	NEED(e, m && a && spec && ret);
	int rc = create(m, a, spec, false, ret, e);

	return rc < 0 ? rc : 0;
}

int atoll_session_get_or_create(struct atoll_sessions *m, struct atoll *a, const struct atoll_session_spec *spec,
    struct atoll_session *ret, struct atoll_error *e)
{
	NEED(e, m && a && spec && ret);
	return create(m, a, spec, true, ret, e);
}

int atoll_session_get(struct atoll_sessions *m, const char *owner, const char *id, struct atoll_session *ret,
    struct atoll_error *e)
{
	NEED(e, m && id && ret);
	(void)pthread_mutex_lock(&m->lock);
	struct session *s = sessions_find(m, owner, id);
	bool live = s && (s->runs > 0 || sessions_now(m) - s->pub.last_used_ms < (int64_t)m->cfg.timeout_ms);

	if (live)
		*ret = s->pub;
	(void)pthread_mutex_unlock(&m->lock);
	return live ? 0 : sessions_none(e, id);
}

int atoll_session_destroy(struct atoll_sessions *m, struct atoll *a, const char *owner, const char *id,
    struct atoll_error *e)
{
	NEED(e, m && id);
	struct atoll_session pub;

	(void)pthread_mutex_lock(&m->lock);
	struct session *s = sessions_find(m, owner, id);
	int rc = s ? sessions_wait_ready(m, s, e) : sessions_none(e, id);

	if (rc == 0) {
		pub = s->pub;
		take_out(m, s);
	}
	(void)pthread_mutex_unlock(&m->lock);
	return rc < 0 ? rc : end_session(m, a, &pub, "destroyed", e);
}

void sessions_leave(struct atoll_sessions *m, const char *owner, const char *agent_id)
{
	(void)pthread_mutex_lock(&m->lock);
	for (struct session *s = m->all; s; s = s->next) {
		if (s->pub.disposable && strcmp(s->pub.agent_id, agent_id) == 0 && strcmp(s->pub.owner, owner) == 0)
			s->left = true;
	}
	(void)pthread_mutex_unlock(&m->lock);
}

void sessions_run_begin(struct atoll_sessions *m, const char *owner, const char *id)
{
	(void)pthread_mutex_lock(&m->lock);
	struct session *s = sessions_find(m, owner, id);

	if (s)
		s->runs++;
	(void)pthread_mutex_unlock(&m->lock);
}

void sessions_run_end(struct atoll_sessions *m, const char *owner, const char *id)
{
	(void)pthread_mutex_lock(&m->lock);
	struct session *s = sessions_find(m, owner, id);

	if (s && s->runs > 0) {
		s->runs--;
		s->pub.last_used_ms = sessions_now(m);
	}
	(void)pthread_mutex_unlock(&m->lock);
}

int atoll_sessions_expire(struct atoll_sessions *m, struct atoll *a, const char *owner)
{
	struct atoll_error e;
	struct atoll_session pub;
	int n = 0;

	for (bool found = true; found; n += found) {
		(void)pthread_mutex_lock(&m->lock);
		int64_t now = sessions_now(m);
		struct session *s = m->all;

		while (s &&
		    (s->state != SESSION_READY || s->runs > 0 || (owner && strcmp(s->pub.owner, owner) != 0) ||
			now - s->pub.last_used_ms < (int64_t)m->cfg.timeout_ms))
			s = s->next;
		found = s != NULL;
		if (found) {
			pub = s->pub;
			take_out(m, s);
		}
		(void)pthread_mutex_unlock(&m->lock);
		if (found)
			(void)end_session(m, a, &pub, "expired", &e);
	}
	return n;
}

size_t atoll_sessions_list(struct atoll_sessions *m, const char *owner, struct atoll_session *v, size_t max)
{
	size_t n = 0;

	(void)pthread_mutex_lock(&m->lock);
	for (struct session *s = m->all; s; s = s->next) {
		if (strcmp(s->pub.owner, owner ? owner : "") != 0)
			continue;
		if (n < max)
			v[n] = s->pub;
		n++;
	}
	(void)pthread_mutex_unlock(&m->lock);
	return n;
}

int atoll_sessions_adopt(struct atoll_sessions *m, const struct atoll_session *s, struct atoll_error *e)
{
	NEED(e, m && s);
	struct session *mine = calloc(1, sizeof *mine);

	if (!mine)
		return client_no_memory(e);
	mine->pub = *s;
	mine->pub.alerts = thresholds_or(s->alerts, m->cfg.alerts); /* records of earlier versions have none */
	mine->state = SESSION_READY;
	mine->left = s->disposable; /* its connection has ended since */
	(void)pthread_mutex_lock(&m->lock);
	bool twice = sessions_find(m, s->owner, s->id) != NULL;

	if (!twice)
		append(m, mine);
	(void)pthread_mutex_unlock(&m->lock);
	if (twice)
		session_free(mine);
	return twice ? client_fail(e, EEXIST, 0, "session '%.60s' already exists", s->id) : 0;
}
