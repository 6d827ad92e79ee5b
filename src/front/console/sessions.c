/* SPDX-License-Identifier: Apache-2.0 */
/* front/console/sessions: a list in the order of creation, and a table by hash. */
#include "front/console/sessions.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/rand.h"
#include "front/util/mem.h"
#include "store/db.h"

#define BUCKETS 1024

struct sessions {
	struct store *store;
	TAILQ_HEAD(, session) list;
	struct session *bucket[BUCKETS];
	size_t n;
	uint64_t idle_ms, life_ms;
};

static size_t bucket_of(const uint8_t hash[SESSION_HASH_SIZE])
{
	return (hash[0] | (size_t)hash[1] << 8) % BUCKETS;
}

static struct session *put(struct sessions *s, const struct session_row *row)
{
	struct session *se = must_alloc(sizeof *se);
	size_t b = bucket_of(row->hash);

	memcpy(se->hash, row->hash, sizeof se->hash);
	(void)str_copy(se->id, sizeof se->id, str_of(row->id));
	(void)str_copy(se->team, sizeof se->team, str_of(row->team));
	(void)str_copy(se->key, sizeof se->key, str_of(row->key));
	(void)str_copy(se->user, sizeof se->user, str_of(row->user));
	se->role = (enum role)row->role;
	se->created_ms = row->created_ms;
	se->used_ms = row->used_ms;
	se->expires_ms = row->expires_ms;
	se->next = s->bucket[b];
	s->bucket[b] = se;
	TAILQ_INSERT_TAIL(&s->list, se, link);
	s->n++;
	return se;
}

static void take_out(struct sessions *s, struct session *se)
{
	struct session **at = &s->bucket[bucket_of(se->hash)];

	while (*at != se)
		at = &(*at)->next;
	*at = se->next;
	TAILQ_REMOVE(&s->list, se, link);
	s->n--;
	free(se);
}

static int on_row(void *user, const struct session_row *row)
{
	struct sessions *s = user;

	if (row->role <= ROLE_ADMIN && s->n < SESSIONS_MAX)
		(void)put(s, row);
	return 0;
}

int console_sessions_new(struct store *store, uint64_t idle_ms, uint64_t life_ms, const char *basis,
    struct sessions **ret, struct err *e)
{
	struct sessions *s = must_alloc(sizeof *s);

	*s = (struct sessions) { .store = store, .idle_ms = idle_ms, .life_ms = life_ms };
	TAILQ_INIT(&s->list);
	if (sessions_rebase(store, basis, e) < 0 || sessions_each(store, on_row, s, e) < 0) {
		console_sessions_free(s);
		return -e->no;
	}
	*ret = s;
	return 0;
}

void console_sessions_free(struct sessions *s)
{
	struct session *se;

	while (s && (se = TAILQ_FIRST(&s->list)))
		take_out(s, se);
	free(s);
}

size_t console_sessions_count(const struct sessions *s)
{
	return s->n;
}

void session_end(struct sessions *s, struct session *se, const char *why)
{
	struct err e;

	log_info("console session ended", "session=%s key=%s why='%s'", se->id, *se->key ? se->key : "none", why);
	if (sessions_drop(s->store, se->hash, &e) < 0)
		log_error("could not delete a console session from the store", "session=%s err=%s", se->id, e.text);
	take_out(s, se);
}

uint64_t session_ends_ms(const struct sessions *s, const struct session *se)
{
	uint64_t idle = se->used_ms + s->idle_ms;

	return idle < se->expires_ms ? idle : se->expires_ms;
}

struct session *session_find(struct sessions *s, struct str token, uint64_t now_ms)
{
	uint8_t hash[SHA256_SIZE];
	struct session *se;

	_Static_assert(sizeof hash == sizeof se->hash, "sessions are found by the SHA-256 of their token");
	sha256(token, hash);
	se = s->bucket[bucket_of(hash)];
	while (se && memcmp(se->hash, hash, sizeof hash) != 0)
		se = se->next;
	if (se && session_ends_ms(s, se) <= now_ms) {
		session_end(s, se, se->expires_ms <= now_ms ? "it is too old" : "it was not used");
		return NULL;
	}
	return se;
}

void session_touch(struct session *se, uint64_t now_ms)
{
	se->used_ms = now_ms;
	se->used = true;
}

/* The session to end when there are too many; team: NULL for any; key and user: those of both, NULL for any. */
static struct session *least_used(struct sessions *s, const char *team, const char *key, const char *user,
    size_t *ret_n)
{
	struct session *se, *least = NULL;

	*ret_n = 0;
	TAILQ_FOREACH(se, &s->list, link)
	{
		if ((team && strcmp(se->team, team) != 0) ||
		    (key && (strcmp(se->key, key) != 0 || strcmp(se->user, user) != 0)))
			continue;
		(*ret_n)++;
		if (!least || se->used_ms < least->used_ms)
			least = se;
	}
	return least;
}

static void make_room(struct sessions *s, const char *team, const char *key, const char *user)
{
	struct session *least;
	size_t n;

	least = least_used(s, team, key, user, &n);
	if (n >= SESSIONS_OF_KEY)
		session_end(s, least, "its key or user has too many");
	least = least_used(s, team, NULL, NULL, &n);
	if (n >= SESSIONS_OF_TEAM)
		session_end(s, least, "its team has too many");
	if (s->n >= SESSIONS_MAX)
		session_end(s, least_used(s, NULL, NULL, NULL, &n), "there are too many");
}

int session_make(struct sessions *s, const struct session_who *who, uint64_t now_ms, char token[TOKEN_SIZE],
    struct session **ret, struct err *e)
{
	uint64_t life_ms = who->life_ms && who->life_ms < s->life_ms ? who->life_ms : s->life_ms;
	char id[SESSION_ID_SIZE];
	struct session_row row = { .id = id,
		.team = who->team->id,
		.key = who->key ? who->key->id : "",
		.user = who->user,
		.role = who->role,
		.created_ms = now_ms,
		.used_ms = now_ms,
		.expires_ms = now_ms + life_ms };

	make_room(s, row.team, row.key, row.user);
	token_make(token);
	rand_hex(id, SESSION_ID_SIZE - 1);
	sha256(str_of(token), row.hash);
	if (sessions_add(s->store, &row, e) < 0)
		return -e->no;
	*ret = put(s, &row);
	return 0;
}

bool session_owner(struct sessions *s, struct session *se, struct keyring *kr, uint64_t now_ms, struct team **ret_team,
    struct key **ret_key)
{
	struct team *t = keyring_team(kr, str_of(se->team));
	struct key *key = t && *se->key ? keyring_key(kr, t, str_of(se->key)) : NULL;
	const char *why = NULL;

	if (!t)
		why = "its team was deleted";
	else if (*se->key && (!key || (key->expires_ms && key->expires_ms <= now_ms)))
		why = "its key was revoked";
	else if (t->blocked && !(key && key->admin))
		why = "its team is blocked";
	if (why) {
		session_end(s, se, why);
		return false;
	}
	*ret_team = t;
	*ret_key = key;
	return true;
}

static void note_used(struct sessions *s, struct session *se)
{
	struct err e;

	if (!se->used)
		return;
	se->used = false;
	if (sessions_used(s->store, se->hash, se->used_ms, &e) < 0)
		log_warn("cannot record the use of a console session", "session=%s err=%s", se->id, e.text);
}

void console_sessions_tidy(struct sessions *s, struct keyring *kr, uint64_t now_ms)
{
	struct session *se, *next;
	struct team *t;
	struct key *key;

	for (se = TAILQ_FIRST(&s->list); se; se = next) {
		next = TAILQ_NEXT(se, link);
		if (session_ends_ms(s, se) <= now_ms)
			session_end(s, se, "its time is over");
		else if (session_owner(s, se, kr, now_ms, &t, &key))
			note_used(s, se);
	}
}
