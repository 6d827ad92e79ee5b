/* SPDX-License-Identifier: Apache-2.0 */
/* client/agent/cache: caches the results of pure code, per session. The key is a hash of session, language and code.
 * A list in order of insertion determines which entry is evicted first. */
#include <errno.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "client/client.h"

#define BYTES_DEFAULT (16u * 1024 * 1024)
#define SLOTS 1024
#define SESSIONS_MAX 10000

struct entry {
	struct entry *next; /* in the same hash slot */
	struct entry *older, *newer;
	unsigned char hash[32];
	char session[64];
	char *result;
	size_t bytes;
};

struct member {
	struct member *next;
	char session[64];
};

struct atoll_cache {
	pthread_mutex_t lock;
	size_t max_bytes;
	struct entry *slots[SLOTS], *oldest, *newest;
	struct member *members;
	size_t n_members;
	struct atoll_cache_stats stats;
};

int atoll_cache_new(size_t max_bytes, struct atoll_cache **ret, struct atoll_error *e)
{
	NEED(e, ret);
	struct atoll_cache *c = calloc(1, sizeof *c);

	if (!c)
		return client_no_memory(e);
	c->max_bytes = max_bytes ? max_bytes : BYTES_DEFAULT;
	(void)pthread_mutex_init(&c->lock, NULL);
	*ret = c;
	return 0;
}

static void hash_of(const char *session, const char *language, const char *code, unsigned char ret[32])
{
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	const char *parts[] = { session, language, code };
	unsigned n = 0;

	memset(ret, 0, 32);
	if (md && EVP_DigestInit_ex(md, EVP_sha256(), NULL) == 1) {
		for (size_t i = 0; i < ARRAY_LEN(parts); i++)
			(void)EVP_DigestUpdate(md, parts[i],
			    strlen(parts[i]) + 1); /* includes the NUL, which separates the parts */
		(void)EVP_DigestFinal_ex(md, ret, &n);
	}
	EVP_MD_CTX_free(md);
}

static struct entry **slot_of(struct atoll_cache *c, const unsigned char hash[32])
{
	return &c->slots[((unsigned)hash[0] << 8 | hash[1]) % SLOTS];
}

static struct entry *find(struct atoll_cache *c, const unsigned char hash[32], const char *session)
{
	for (struct entry *x = *slot_of(c, hash); x; x = x->next) {
		if (memcmp(x->hash, hash, 32) == 0 && strcmp(x->session, session) == 0)
			return x;
	}
	return NULL;
}

static void drop(struct atoll_cache *c, struct entry *x)
{
	struct entry **at = slot_of(c, x->hash);

	while (*at != x)
		at = &(*at)->next;
	*at = x->next;
	*(x->older ? &x->older->newer : &c->oldest) = x->newer;
	*(x->newer ? &x->newer->older : &c->newest) = x->older;
	c->stats.entries--;
	c->stats.bytes -= x->bytes;
	free(x->result);
	free(x);
}

static bool is_member(const struct atoll_cache *c, const char *session)
{
	for (const struct member *m = c->members; m; m = m->next) {
		if (strcmp(m->session, session) == 0)
			return true;
	}
	return false;
}

int atoll_cache_enable(struct atoll_cache *c, const char *session_id, struct atoll_error *e)
{
	NEED(e, c && session_id);
	int rc = 0;

	if (strlen(session_id) >= sizeof((struct member *)NULL)->session)
		return client_fail(e, ENAMETOOLONG, 0, "the session id is too long");
	(void)pthread_mutex_lock(&c->lock);
	if (!is_member(c, session_id)) {
		struct member *m = c->n_members < SESSIONS_MAX ? calloc(1, sizeof *m) : NULL;

		if (m) {
			memcpy(m->session, session_id, strlen(session_id));
			m->next = c->members;
			c->members = m;
			c->n_members++;
		}
		rc = m ? 0 : -ENOMEM;
	}
	(void)pthread_mutex_unlock(&c->lock);
	return rc < 0 ? client_no_memory(e) : 0;
}

bool atoll_cache_enabled(struct atoll_cache *c, const char *session_id)
{
	(void)pthread_mutex_lock(&c->lock);
	bool yes = is_member(c, session_id);
	(void)pthread_mutex_unlock(&c->lock);
	return yes;
}

static void leave(struct atoll_cache *c, const char *session)
{
	for (struct member **at = &c->members; *at; at = &(*at)->next) {
		if (strcmp((*at)->session, session) != 0)
			continue;
		struct member *m = *at;

		*at = m->next;
		free(m);
		c->n_members--;
		break;
	}
	for (struct entry *x = c->oldest, *next; x; x = next) {
		next = x->newer;
		if (strcmp(x->session, session) == 0)
			drop(c, x);
	}
}

void atoll_cache_written(struct atoll_cache *c, const char *session_id)
{
	(void)pthread_mutex_lock(&c->lock);
	if (is_member(c, session_id))
		leave(c, session_id);
	(void)pthread_mutex_unlock(&c->lock);
}

char *atoll_cache_get(struct atoll_cache *c, const char *session_id, const char *language, const char *code)
{
	unsigned char hash[32];
	char *ret = NULL;

	hash_of(session_id, language, code, hash);
	(void)pthread_mutex_lock(&c->lock);
	if (is_member(c, session_id)) {
		struct entry *x = find(c, hash, session_id);

		ret = x ? strdup(x->result) : NULL;
		c->stats.hits += ret != NULL;
		c->stats.misses += ret == NULL;
	}
	(void)pthread_mutex_unlock(&c->lock);
	return ret;
}

static void insert(struct atoll_cache *c, const unsigned char hash[32], const char *session, const char *result)
{
	struct entry *x = calloc(1, sizeof *x);

	if (!x || !(x->result = strdup(result))) {
		free(x);
		return;
	}
	memcpy(x->hash, hash, 32);
	memcpy(x->session, session, strlen(session) + 1);
	x->bytes = sizeof *x + strlen(result);
	x->next = *slot_of(c, hash);
	*slot_of(c, hash) = x;
	x->older = c->newest;
	*(c->newest ? &c->newest->newer : &c->oldest) = x;
	c->newest = x;
	c->stats.entries++;
	c->stats.bytes += x->bytes;
	while (c->stats.bytes > c->max_bytes && c->oldest)
		drop(c, c->oldest);
}

void atoll_cache_put(struct atoll_cache *c, const char *session_id, const char *language, const char *code,
    const char *result)
{
	unsigned char hash[32];

	if (!atoll_code_pure(language, code))
		return;
	hash_of(session_id, language, code, hash);
	(void)pthread_mutex_lock(&c->lock);
	if (is_member(c, session_id) && !find(c, hash, session_id))
		insert(c, hash, session_id, result);
	(void)pthread_mutex_unlock(&c->lock);
}

void atoll_cache_stats(struct atoll_cache *c, struct atoll_cache_stats *ret)
{
	(void)pthread_mutex_lock(&c->lock);
	*ret = c->stats;
	(void)pthread_mutex_unlock(&c->lock);
}

void atoll_cache_free(struct atoll_cache *c)
{
	if (!c)
		return;
	while (c->oldest)
		drop(c, c->oldest);
	while (c->members) {
		struct member *m = c->members;

		c->members = m->next;
		free(m);
	}
	(void)pthread_mutex_destroy(&c->lock);
	free(c);
}
