/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/keyring: two lists, and a table of keys by hash. */
#include "front/account/keyring.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/rand.h"
#include "front/util/mem.h"
#include "front/util/token.h"

#define KEY_TEXT_MAX 256
#define BUCKETS 512
#define SHOWN_HEAD 2
#define SHOWN_TAIL 4
#define DEFAULT_NAME "default"
#define LOCAL_NAME "local"
#define SDK_NAME "sdk"

struct keyring {
	struct store *store;
	TAILQ_HEAD(, team) teams;
	TAILQ_HEAD(, key) keys;
	struct key *bucket[BUCKETS];
	struct team *fallback; /* the default team */
};

void uuid_make(char ret[TEAM_ID_SIZE])
{
	char h[33];

	rand_hex(h, 32);
	h[12] = '4'; /* version 4, the form that clients expect */
	h[16] = "89ab"[h[16] & 3];
	(void)snprintf(ret, TEAM_ID_SIZE, "%.8s-%.4s-%.4s-%.4s-%.12s", h, h + 8, h + 12, h + 16, h + 20);
}

void uuid_put(const uint8_t b[16], uint8_t version, char ret[TEAM_ID_SIZE])
{
	(void)snprintf(ret, TEAM_ID_SIZE, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
	    b[1], b[2], b[3], b[4], b[5], (b[6] & 0x0f) | version << 4, b[7], (b[8] & 0x3f) | 0x80, b[9], b[10], b[11],
	    b[12], b[13], b[14], b[15]);
}

/* --- in memory --- */

static size_t bucket_of(const uint8_t hash[KEY_HASH_SIZE])
{
	return (hash[0] | (size_t)hash[1] << 8) % BUCKETS;
}

static struct team *team_put(struct keyring *k, const struct team_row *row)
{
	struct team *t = must_alloc(sizeof *t);

	(void)str_copy(t->id, sizeof t->id, str_of(row->id));
	(void)str_copy(t->name, sizeof t->name, str_of(row->name));
	t->is_default = row->is_default;
	t->blocked = row->blocked;
	t->max_sandboxes = row->max_sandboxes;
	t->rate_limit = row->rate_limit;
	t->created_ms = row->created_ms;
	TAILQ_INSERT_TAIL(&k->teams, t, link);
	if (t->is_default)
		k->fallback = t;
	return t;
}

static struct key *key_put(struct keyring *k, struct team *t, const struct key_row *row)
{
	struct key *key = must_alloc(sizeof *key);
	size_t b = bucket_of(row->hash);

	(void)str_copy(key->id, sizeof key->id, str_of(row->id));
	(void)str_copy(key->name, sizeof key->name, str_of(row->name));
	(void)str_copy(key->head, sizeof key->head, str_of(row->head));
	(void)str_copy(key->tail, sizeof key->tail, str_of(row->tail));
	memcpy(key->hash, row->hash, sizeof key->hash);
	key->team = t;
	key->length = row->length;
	key->admin = row->admin;
	key->local = row->local;
	key->created_ms = row->created_ms;
	key->used_ms = row->used_ms;
	key->expires_ms = row->expires_ms;
	key->next = k->bucket[b];
	k->bucket[b] = key;
	TAILQ_INSERT_TAIL(&k->keys, key, link);
	t->n_keys++;
	return key;
}

static void key_take_out(struct keyring *k, struct key *key)
{
	struct key **at = &k->bucket[bucket_of(key->hash)];

	while (*at != key)
		at = &(*at)->next;
	*at = key->next;
	TAILQ_REMOVE(&k->keys, key, link);
	key->team->n_keys--;
	free(key);
}

static int on_team(void *user, const struct team_row *row)
{
	(void)team_put(user, row);
	return 0;
}

static int on_key(void *user, const struct key_row *row)
{
	struct keyring *k = user;
	struct team *t = keyring_team(k, str_of(row->team));

	if (t)
		(void)key_put(k, t, row);
	return 0;
}

struct team *keyring_default(struct keyring *k)
{
	return k->fallback;
}

struct team *keyring_team(struct keyring *k, struct str id_or_name)
{
	struct team *t;

	TAILQ_FOREACH(t, &k->teams, link)
	{
		if (str_is(id_or_name, t->id) || str_is(id_or_name, t->name))
			return t;
	}
	return NULL;
}

struct team *keyring_next_team(struct keyring *k, struct team *t)
{
	return t ? TAILQ_NEXT(t, link) : TAILQ_FIRST(&k->teams);
}

struct key *keyring_next_key(struct keyring *k, struct key *key)
{
	return key ? TAILQ_NEXT(key, link) : TAILQ_FIRST(&k->keys);
}

struct key *keyring_key(struct keyring *k, const struct team *t, struct str id)
{
	struct key *key;

	TAILQ_FOREACH(key, &k->keys, link)
	{
		if (key->team == t && str_is(id, key->id))
			return key;
	}
	return NULL;
}

/* The bucket and the time of the lookup may reveal something about the hash, but nothing about the key. */
struct key *keyring_find(struct keyring *k, struct str secret, uint64_t now_wall_ms)
{
	uint8_t hash[SHA256_SIZE];

	sha256(secret, hash);
	for (struct key *key = k->bucket[bucket_of(hash)]; key; key = key->next) {
		if (memcmp(key->hash, hash, sizeof hash) == 0)
			return key->expires_ms && key->expires_ms <= now_wall_ms ? NULL : key;
	}
	return NULL;
}

/* --- the local key --- */

static int key_file_make(const char *path, struct err *e)
{
	char key[KEY_TEXT_SIZE + 1] = KEY_PREFIX;
	autoclose int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_sys(e, "create '%s'", path);
	rand_hex(key + strlen(KEY_PREFIX), KEY_DIGITS);
	(void)strcat(key, "\n");

	int r = fd_write_all(fd, key, strlen(key));

	explicit_bzero(key, sizeof key);
	return r < 0 ? err_set(e, -r, "write '%s': %s", path, strerror(-r)) : 0;
}

/* text: the key; returns its length. */
static ssize_t key_file_read(const char *path, char text[KEY_TEXT_MAX], struct err *e)
{
	ssize_t n = file_read(AT_FDCWD, path, text, KEY_TEXT_MAX);

	if (n == -ENOENT) {
		if (key_file_make(path, e) < 0)
			return -e->no;
		n = file_read(AT_FDCWD, path, text, KEY_TEXT_MAX);
	}
	if (n < 0)
		return err_set(e, (int)-n, "read '%s': %s", path, strerror((int)-n));
	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
		n--;
	return n > 0 ? n : err_set(e, EINVAL, "key file '%s' is empty", path);
}

struct mask {
	char head[SHOWN_HEAD + 1], tail[SHOWN_TAIL + 1];
	uint32_t length;
};

/* A key that is too short is masked completely. */
static struct mask mask_of(struct str secret)
{
	struct mask m = { .length = (uint32_t)secret.n };

	if (str_starts(secret, KEY_PREFIX))
		m.length -= (uint32_t)strlen(KEY_PREFIX);
	if (m.length >= 4 * (SHOWN_HEAD + SHOWN_TAIL)) {
		memcpy(m.head, secret.p + secret.n - m.length, SHOWN_HEAD);
		memcpy(m.tail, secret.p + secret.n - SHOWN_TAIL, SHOWN_TAIL);
	}
	return m;
}

/* Sets a key that comes from a file of the server; there is one with and one without admin rights. */
static int put_local(struct keyring *k, struct str secret, bool admin, struct err *e)
{
	char id[KEY_ID_SIZE];
	struct mask m = mask_of(secret);
	struct key_row row = { .id = id,
		.team = k->fallback->id,
		.name = admin ? LOCAL_NAME : SDK_NAME,
		.head = m.head,
		.tail = m.tail,
		.length = m.length,
		.admin = admin,
		.local = true,
		.created_ms = clock_wall_ms() };
	struct key *old = keyring_find(k, secret, 0), *key, *next;

	if (old && old->local && old->admin && !admin)
		return err_set(e, EEXIST, "'sdk-key' is the same key as 'key': remove 'sdk-key' to get a new one");
	if (old && old->local && old->admin == admin && old->team == k->fallback)
		return 0;
	uuid_make(id);
	sha256(secret, row.hash);
	if (keys_put_local(k->store, &row, e) < 0)
		return -e->no;
	for (key = TAILQ_FIRST(&k->keys); key; key = next) {
		next = TAILQ_NEXT(key, link);
		if ((key->local && key->admin == admin) || key == old)
			key_take_out(k, key);
	}
	(void)key_put(k, k->fallback, &row);
	return 0;
}

static int open_default(struct keyring *k, struct err *e)
{
	char id[TEAM_ID_SIZE];
	struct team_row row = { .id = id,
		.name = DEFAULT_NAME,
		.is_default = true,
		.max_sandboxes = LIMIT_DEFAULT,
		.rate_limit = LIMIT_DEFAULT,
		.created_ms = clock_wall_ms() };

	if (k->fallback)
		return 0;
	uuid_make(id);
	if (teams_add(k->store, &row, e) < 0)
		return -e->no;
	(void)team_put(k, &row);
	return 0;
}

int keyring_open(struct store *s, const char *key_file, struct keyring **ret, struct err *e)
{
	struct keyring *k = must_alloc(sizeof *k);
	char text[KEY_TEXT_MAX];

	k->store = s;
	TAILQ_INIT(&k->teams);
	TAILQ_INIT(&k->keys);

	ssize_t n = key_file_read(key_file, text, e);

	if (n < 0 || teams_each(s, on_team, k, e) < 0 || open_default(k, e) < 0 || keys_each(s, on_key, k, e) < 0 ||
	    put_local(k, (struct str) { text, (size_t)n }, true, e) < 0) {
		keyring_free(k);
		k = NULL;
	}
	explicit_bzero(text, sizeof text);
	if (!k)
		return -e->no;
	*ret = k;
	return 0;
}

int keyring_add_sdk_key(struct keyring *k, const char *key_file, struct err *e)
{
	char text[KEY_TEXT_MAX];
	ssize_t n = key_file_read(key_file, text, e);
	int r = n < 0 ? -e->no : put_local(k, (struct str) { text, (size_t)n }, false, e);

	explicit_bzero(text, sizeof text);
	return r;
}

void keyring_free(struct keyring *k)
{
	struct team *t;
	struct key *key;

	if (!k)
		return;
	while ((key = TAILQ_FIRST(&k->keys)))
		key_take_out(k, key);
	while ((t = TAILQ_FIRST(&k->teams))) {
		TAILQ_REMOVE(&k->teams, t, link);
		free(t);
	}
	free(k);
}

/* --- changes --- */

int keyring_add_team(struct keyring *k, const char *name, int64_t max_sandboxes, int64_t rate_limit, struct team **ret,
    struct err *e)
{
	char id[TEAM_ID_SIZE];
	struct team_row row = { .id = id,
		.name = name,
		.max_sandboxes = max_sandboxes,
		.rate_limit = rate_limit,
		.created_ms = clock_wall_ms() };

	uuid_make(id);
	if (teams_add(k->store, &row, e) < 0)
		return -e->no;
	*ret = team_put(k, &row);
	return 0;
}

int keyring_set_team(struct keyring *k, struct team *t, const struct team_row *to, struct err *e)
{
	struct team_row row = *to;

	row.id = t->id;
	if (teams_set(k->store, &row, e) < 0)
		return -e->no;
	if (row.name != t->name)
		(void)str_copy(t->name, sizeof t->name, str_of(row.name));
	t->blocked = row.blocked;
	t->max_sandboxes = row.max_sandboxes;
	t->rate_limit = row.rate_limit;
	return 0;
}

int keyring_drop_team(struct keyring *k, struct team *t, struct err *e)
{
	struct key *key, *next;

	if (teams_drop(k->store, t->id, e) < 0)
		return -e->no;
	for (key = TAILQ_FIRST(&k->keys); key; key = next) {
		next = TAILQ_NEXT(key, link);
		if (key->team == t)
			key_take_out(k, key);
	}
	TAILQ_REMOVE(&k->teams, t, link);
	free(t);
	return 0;
}

int keyring_add_key(struct keyring *k, struct team *t, const char *name, bool admin, char secret[KEY_TEXT_SIZE],
    struct key **ret, struct err *e)
{
	char id[KEY_ID_SIZE];

	memcpy(secret, KEY_PREFIX, sizeof KEY_PREFIX);
	rand_hex(secret + strlen(KEY_PREFIX), KEY_DIGITS);
	uuid_make(id);

	struct mask m = mask_of(str_of(secret));
	struct key_row row = { .id = id,
		.team = t->id,
		.name = name,
		.head = m.head,
		.tail = m.tail,
		.length = m.length,
		.admin = admin,
		.created_ms = clock_wall_ms() };

	sha256(str_of(secret), row.hash);
	if (keys_add(k->store, &row, e) < 0)
		return -e->no;
	*ret = key_put(k, t, &row);
	return 0;
}

int keyring_rename_key(struct keyring *k, struct key *key, const char *name, struct err *e)
{
	if (keys_rename(k->store, key->id, name, e) < 0)
		return -e->no;
	(void)str_copy(key->name, sizeof key->name, str_of(name));
	return 0;
}

int keyring_expire_key(struct keyring *k, struct key *key, uint64_t at_wall_ms, struct err *e)
{
	if (keys_expire(k->store, key->id, at_wall_ms, e) < 0)
		return -e->no;
	key->expires_ms = at_wall_ms;
	return 0;
}

int keyring_drop_key(struct keyring *k, struct key *key, struct err *e)
{
	if (keys_drop(k->store, key->id, e) < 0)
		return -e->no;
	key_take_out(k, key);
	return 0;
}

void keyring_tidy(struct keyring *k, uint64_t now_wall_ms)
{
	struct key *key, *next;
	struct err e;

	for (key = TAILQ_FIRST(&k->keys); key; key = next) {
		next = TAILQ_NEXT(key, link);
		if (key->used && keys_used(k->store, key->id, key->used_ms, &e) < 0)
			log_warn("could not record the use of a key", "key=%s err=%s", key->id, e.text);
		key->used = false;
		if (!key->expires_ms || key->expires_ms > now_wall_ms)
			continue;
		log_info("key expired", "key=%s team=%s", key->id, key->team->id);
		if (keyring_drop_key(k, key, &e) < 0)
			log_warn("could not remove a key, retrying later", "err=%s", e.text);
	}
}
