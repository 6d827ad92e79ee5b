/* SPDX-License-Identifier: Apache-2.0 */
/* agent/mcp_sessions: a list under a lock. */
#include "agent/mcp_sessions.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "agent/request.h"
#include "base/clock.h"
#include "base/rand.h"

#define SESSIONS_MAX 2000
#define SESSIONS_EACH 100 /* per key, so that a key that opens many loses only its own */
#define IDLE_MS (3600 * 1000ull)

struct mcp_session {
	TAILQ_ENTRY(mcp_session) link;
	char id[MCP_SESSION_ID_SIZE];
	char *team, *key_id;
	struct mcp_peer peer;
	struct mcp_flight *flights;
	unsigned refs; /* of the list and of calls */
	bool listed;
	uint64_t used_ms;
};

static struct {
	pthread_mutex_t lock;
	TAILQ_HEAD(session_list, mcp_session) all; /* most recently used first */
	unsigned n;
} the = { .lock = PTHREAD_MUTEX_INITIALIZER, .all = TAILQ_HEAD_INITIALIZER(the.all) };

static void unref_locked(struct mcp_session *s)
{
	if (--s->refs > 0)
		return;
	free(s->team);
	free(s->key_id);
	free(s);
}

static void unlist_locked(struct mcp_session *s)
{
	TAILQ_REMOVE(&the.all, s, link);
	the.n--;
	s->listed = false;
	for (struct mcp_flight *f = s->flights; f; f = f->next)
		atomic_store(&f->cancelled, true);
	unref_locked(s);
}

static bool counts_for(const struct mcp_session *s, const struct caller *who)
{
	return strcmp(s->team, who->team) == 0 && strcmp(s->key_id, who->key_id) == 0;
}

/* Evicts the oldest sessions after one was added for who. A client that is evicted can initialize again. */
static void trim_locked(const struct caller *who)
{
	struct mcp_session *s, *oldest = NULL;
	size_t n = 0;

	TAILQ_FOREACH(s, &the.all, link)
	{
		if (counts_for(s, who)) {
			oldest = s;
			n++;
		}
	}
	if (n > SESSIONS_EACH)
		unlist_locked(oldest);
	else if (the.n > SESSIONS_MAX)
		unlist_locked(TAILQ_LAST(&the.all, session_list));
}

struct mcp_session *mcp_session_new(const struct caller *who, const struct mcp_peer *peer)
{
	struct mcp_session *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	*s = (struct mcp_session) { .team = strdup(who->team),
		.key_id = strdup(who->key_id),
		.peer = *peer,
		.refs = 2,
		.listed = true,
		.used_ms = clock_mono_ms() };
	rand_hex(s->id, MCP_SESSION_ID_SIZE - 1);
	if (!s->team || !s->key_id) {
		s->refs = 1;
		unref_locked(s);
		return NULL;
	}
	(void)pthread_mutex_lock(&the.lock);
	TAILQ_INSERT_HEAD(&the.all, s, link);
	the.n++;
	trim_locked(who);
	(void)pthread_mutex_unlock(&the.lock);
	return s;
}

static struct mcp_session *find_locked(const struct caller *who, const char *id)
{
	struct mcp_session *s;

	TAILQ_FOREACH(s, &the.all, link)
	{
		if (strcmp(s->id, id) == 0 && strcmp(s->team, who->team) == 0)
			return s;
	}
	return NULL;
}

struct mcp_session *mcp_session_find(const struct caller *who, const char *id)
{
	(void)pthread_mutex_lock(&the.lock);
	struct mcp_session *s = find_locked(who, id);

	if (s) {
		s->refs++;
		s->used_ms = clock_mono_ms();
		TAILQ_REMOVE(&the.all, s, link);
		TAILQ_INSERT_HEAD(&the.all, s, link);
	}
	(void)pthread_mutex_unlock(&the.lock);
	return s;
}

void mcp_session_unref(struct mcp_session *s)
{
	if (!s)
		return;
	(void)pthread_mutex_lock(&the.lock);
	unref_locked(s);
	(void)pthread_mutex_unlock(&the.lock);
}

bool mcp_session_end(const struct caller *who, const char *id)
{
	(void)pthread_mutex_lock(&the.lock);
	struct mcp_session *s = find_locked(who, id);

	if (s)
		unlist_locked(s);
	(void)pthread_mutex_unlock(&the.lock);
	return s != NULL;
}

void mcp_sessions_expire(uint64_t now_ms)
{
	struct mcp_session *s;

	(void)pthread_mutex_lock(&the.lock);
	while ((s = TAILQ_LAST(&the.all, session_list)) && now_ms - s->used_ms > IDLE_MS && !s->flights)
		unlist_locked(s);
	(void)pthread_mutex_unlock(&the.lock);
}

const char *mcp_session_id(const struct mcp_session *s)
{
	return s->id;
}

const struct mcp_peer *mcp_session_peer(const struct mcp_session *s)
{
	return &s->peer;
}

struct mcp_flight *mcp_flight_new(struct mcp_session *s, const json_t *id)
{
	struct mcp_flight *f = calloc(1, sizeof *f);

	if (!f)
		return NULL;
	f->id = json_deep_copy(id);
	atomic_init(&f->cancelled, false);
	if (s) {
		(void)pthread_mutex_lock(&the.lock);
		f->next = s->flights;
		s->flights = f;
		(void)pthread_mutex_unlock(&the.lock);
	}
	return f;
}

void mcp_flight_free(struct mcp_session *s, struct mcp_flight *f)
{
	if (s) {
		(void)pthread_mutex_lock(&the.lock);
		struct mcp_flight **at = &s->flights;

		while (*at != f)
			at = &(*at)->next;
		*at = f->next;
		s->used_ms = clock_mono_ms();
		(void)pthread_mutex_unlock(&the.lock);
	}
	json_decref(f->id);
	free(f);
}

void mcp_session_cancel(struct mcp_session *s, const json_t *id)
{
	(void)pthread_mutex_lock(&the.lock);
	for (struct mcp_flight *f = s->flights; f; f = f->next) {
		if (json_equal(f->id, id))
			atomic_store(&f->cancelled, true);
	}
	(void)pthread_mutex_unlock(&the.lock);
}
