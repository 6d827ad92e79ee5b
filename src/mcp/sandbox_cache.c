/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/sandbox_cache: a list under a lock, which is not held during calls to the server. */
#include "mcp/sandbox_cache.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "client/agent/redact.h"
#include "client/agent/sessions.h"
#include "client/client.h"

#define IDLE_MAX 64 /* open sandboxes without a user */

struct hidden {             /* immutable once published */
	struct secrets all; /* first, because callers hold a pointer to its v */
	unsigned refs;
};

_Static_assert(offsetof(struct hidden, all.v) == 0, "a pointer to the texts is a pointer to the struct");

struct entry {
	struct cached_sandbox pub;
	TAILQ_ENTRY(entry) link;
	unsigned refs;
	bool listed;
	struct hidden *hidden; /* NULL: none */
};

struct sandbox_cache {
	struct atoll *a;
	struct atoll_sessions *sessions;
	char *owner;
	pthread_mutex_t lock;
	unsigned refs;
	TAILQ_HEAD(entry_list, entry) open; /* most recently used first */
	size_t n_open;
};

static int cache_fail(struct atoll_error *e, int no, const char *text)
{
	e->no = no;
	e->status = 0;
	(void)snprintf(e->text, sizeof e->text, "%s", text);
	return -no;
}

struct sandbox_cache *sandbox_cache_new(struct atoll *a, struct atoll_sessions *sessions, const char *owner)
{
	struct sandbox_cache *b = calloc(1, sizeof *b);

	if (!b || !(b->owner = strdup(owner))) {
		free(b);
		atoll_free(a);
		return NULL;
	}
	b->a = a;
	b->sessions = sessions;
	b->refs = 1;
	TAILQ_INIT(&b->open);
	(void)pthread_mutex_init(&b->lock, NULL);
	return b;
}

struct atoll *sandbox_cache_client(struct sandbox_cache *b)
{
	return b->a;
}

static void hidden_unref(struct hidden *h)
{
	if (!h || --h->refs > 0)
		return;
	secrets_done(&h->all);
	free(h);
}

static void entry_free(struct entry *o)
{
	hidden_unref(o->hidden);
	atoll_sandbox_free(o->pub.sb);
	free(o);
}

void sandbox_cache_ref(struct sandbox_cache *b)
{
	(void)pthread_mutex_lock(&b->lock);
	b->refs++;
	(void)pthread_mutex_unlock(&b->lock);
}

void sandbox_cache_unref(struct sandbox_cache *b)
{
	struct entry *o;

	if (!b)
		return;
	(void)pthread_mutex_lock(&b->lock);
	bool last = --b->refs == 0;

	(void)pthread_mutex_unlock(&b->lock);
	if (!last)
		return;
	while ((o = TAILQ_FIRST(&b->open))) {
		TAILQ_REMOVE(&b->open, o, link);
		entry_free(o);
	}
	atoll_free(b->a);
	(void)pthread_mutex_destroy(&b->lock);
	free(b->owner);
	free(b);
}

/* --- open sandboxes; functions that end with _locked are called with the lock held ---------------------------- */

static void unlist_locked(struct sandbox_cache *b, struct entry *o)
{
	TAILQ_REMOVE(&b->open, o, link);
	b->n_open--;
	o->listed = false;
	if (o->refs == 0)
		entry_free(o);
}

static struct entry *find_locked(struct sandbox_cache *b, const char *id)
{
	struct entry *o;

	TAILQ_FOREACH(o, &b->open, link)
	{
		if (strcmp(o->pub.id, id) == 0)
			return o;
	}
	return NULL;
}

static void trim_locked(struct sandbox_cache *b)
{
	struct entry *o, *before;

	for (o = TAILQ_LAST(&b->open, entry_list); o && b->n_open > IDLE_MAX; o = before) {
		before = TAILQ_PREV(o, entry_list, link);
		if (o->refs == 0)
			unlist_locked(b, o);
	}
}

static struct cached_sandbox *lend_locked(struct sandbox_cache *b, struct entry *o)
{
	TAILQ_REMOVE(&b->open, o, link);
	TAILQ_INSERT_HEAD(&b->open, o, link);
	o->refs++;
	return &o->pub;
}

/* Takes ownership of sb. If another thread has opened the same sandbox in the meantime, that one is used. */
static int list_new(struct sandbox_cache *b, struct atoll_sandbox *sb, struct cached_sandbox **ret,
    struct atoll_error *e)
{
	struct entry *o = calloc(1, sizeof *o);

	if (!o) {
		atoll_sandbox_free(sb);
		return cache_fail(e, ENOMEM, "out of memory");
	}
	o->pub = (struct cached_sandbox) { .sb = sb, .id = atoll_sandbox_id(sb) };
	(void)pthread_mutex_lock(&b->lock);
	struct entry *other = find_locked(b, o->pub.id);

	if (!other) {
		TAILQ_INSERT_HEAD(&b->open, o, link);
		b->n_open++;
		o->listed = true;
	}
	*ret = lend_locked(b, other ? other : o);
	trim_locked(b);
	(void)pthread_mutex_unlock(&b->lock);
	if (other)
		entry_free(o);
	return 0;
}

int sandbox_cache_open(struct sandbox_cache *b, const char *id, struct cached_sandbox **ret, struct atoll_error *e)
{
	struct atoll_sandbox *sb;

	(void)pthread_mutex_lock(&b->lock);
	struct entry *o = find_locked(b, id);

	if (o)
		*ret = lend_locked(b, o);
	(void)pthread_mutex_unlock(&b->lock);
	if (o)
		return 0;
	if (client_late(atoll_sandbox_open(b->a, id, &sb, e), e) < 0)
		return -e->no;
	return list_new(b, sb, ret, e);
}

void sandbox_cache_put(struct sandbox_cache *b, struct cached_sandbox *sandbox)
{
	struct entry *o = (struct entry *)sandbox; /* its first member */

	if (!o)
		return;
	(void)pthread_mutex_lock(&b->lock);
	if (--o->refs == 0 && !o->listed)
		entry_free(o);
	else
		trim_locked(b);
	(void)pthread_mutex_unlock(&b->lock);
}

void sandbox_cache_drop(struct sandbox_cache *b, const char *id)
{
	(void)pthread_mutex_lock(&b->lock);
	struct entry *o = find_locked(b, id);

	if (o)
		unlist_locked(b, o);
	(void)pthread_mutex_unlock(&b->lock);
}

static bool is_hidden(const struct hidden *h, const char *text)
{
	for (size_t i = 0; h && i < h->all.n; i++) {
		if (strcmp(h->all.v[i], text) == 0)
			return true;
	}
	return false;
}

void sandbox_cache_hide(struct sandbox_cache *b, struct cached_sandbox *sandbox, const char *const *texts, size_t n)
{
	struct entry *o = (struct entry *)sandbox;
	struct hidden *h = NULL;

	(void)pthread_mutex_lock(&b->lock);
	for (size_t i = 0; i < n; i++) {
		if (is_hidden(o->hidden, texts[i]))
			continue;
		if (!h && !(h = calloc(1, sizeof *h)))
			break;
		redact_secrets_add(&h->all, texts[i]);
	}
	for (size_t i = 0; h && o->hidden && i < o->hidden->all.n && h->all.n < SECRETS_MAX; i++)
		redact_secrets_add(&h->all, o->hidden->all.v[i]);
	if (h) {
		h->refs = 1;
		hidden_unref(o->hidden); /* freed when the last reader is done */
		o->hidden = h;
	}
	(void)pthread_mutex_unlock(&b->lock);
}

const char *const *sandbox_cache_secrets(struct sandbox_cache *b, struct cached_sandbox *sandbox)
{
	struct entry *o = (struct entry *)sandbox;
	struct hidden *h;

	if (!o)
		return NULL;
	(void)pthread_mutex_lock(&b->lock);
	h = o->hidden;
	if (h)
		h->refs++;
	(void)pthread_mutex_unlock(&b->lock);
	return h ? (const char *const *)h->all.v : NULL;
}

void sandbox_cache_secrets_put(struct sandbox_cache *b, const char *const *list)
{
	if (!list)
		return;
	(void)pthread_mutex_lock(&b->lock);
	hidden_unref((struct hidden *)list);
	(void)pthread_mutex_unlock(&b->lock);
}

/* --- sessions ------------------------------------------------------------------------------------------------ */

int sandbox_cache_session(struct sandbox_cache *b, const char *agent, const char *id, const char *lost, uint64_t run_ms,
    char ret_id[SESSION_ID_SIZE], struct cached_sandbox **ret, bool *ret_anew, struct atoll_error *e)
{
	struct atoll_session_spec spec = { .owner = b->owner,
		.agent_id = agent,
		.scope = b->a->scope,
		.disposable = true };
	struct atoll_session s = { .id = "" };
	struct atoll_sandbox *sb;

	*ret_anew = false;
	if (!id && client_late(atoll_session_get_or_create(b->sessions, b->a, &spec, &s, e), e) < 0)
		return -e->no;
	if (client_late(sessions_open(b->sessions, b->a, b->owner, id ? id : s.id, lost, run_ms, &sb, ret_anew, e), e) <
	    0)
		return -e->no;
	(void)snprintf(ret_id, SESSION_ID_SIZE, "%s", id ? id : s.id);
	if (list_new(b, sb, ret, e) < 0)
		return -e->no;
	sessions_run_begin(b->sessions, b->owner, ret_id);
	return 0;
}

void sandbox_cache_session_left(struct sandbox_cache *b, const char *id)
{
	sessions_run_end(b->sessions, b->owner, id);
}

void sandbox_cache_written(struct sandbox_cache *b, const char *id)
{
	atoll_session_written(b->sessions, id);
}

struct atoll_session *sandbox_cache_sessions(struct sandbox_cache *b, size_t *ret_n)
{
	size_t n = atoll_sessions_list(b->sessions, b->owner, NULL, 0);
	struct atoll_session *v = calloc(n + 1, sizeof *v);
	size_t now = v ? atoll_sessions_list(b->sessions, b->owner, v, n) : 0;

	*ret_n = now < n ? now : v ? n : 0;
	return v;
}

int sandbox_cache_session_end(struct sandbox_cache *b, const char *agent, const char *id, char ret_id[SESSION_ID_SIZE],
    struct atoll_error *e)
{
	const char *scope = b->a->scope ? b->a->scope : "";
	size_t n;
	autofree struct atoll_session *v = sandbox_cache_sessions(b, &n);

	for (size_t i = 0; i < n; i++) {
		bool own = strcmp(v[i].agent_id, agent) == 0 && (!*v[i].scope || strcmp(v[i].scope, scope) == 0);

		if (id ? strcmp(v[i].id, id) != 0 : !own)
			continue;
		sandbox_cache_drop(b, v[i].sandbox_id);
		(void)str_copy(ret_id, SESSION_ID_SIZE, str_of(v[i].id));
		return atoll_session_destroy(b->sessions, b->a, b->owner, v[i].id, e);
	}
	return cache_fail(e, ENOENT, id ? "session not found" : "this client has no session");
}

int sandbox_cache_report(struct sandbox_cache *b, const char *record, struct atoll_error *e)
{
	return client_report(b->a, record, e);
}
