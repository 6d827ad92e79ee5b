/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/keyring: teams and their API keys: a copy of the store in memory. Keys are stored and compared
 * only as hashes.
 *
 * Every change is written to the store first. A team or key stays at its address until it is removed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/err.h"
#include "base/str.h"
#include "front/account/quota.h"
#include "front/util/bucket.h"
#include "store/keys.h"
#include "store/teams.h"

struct keyring;
struct store;

#define KEY_PREFIX "e2b_" /* some clients refuse keys without this prefix */
#define KEY_DIGITS 40
#define KEY_TEXT_SIZE (sizeof KEY_PREFIX + KEY_DIGITS)
#define KEY_ID_SIZE 40 /* a UUID and a NUL */
#define KEY_NAME_SIZE 64

struct team {
	TAILQ_ENTRY(team) link;
	char id[TEAM_ID_SIZE];
	char name[TEAM_NAME_SIZE];
	bool is_default, blocked;
	int64_t max_sandboxes, rate_limit; /* LIMIT_DEFAULT, or the team's own */
	uint64_t created_ms;
	size_t n_keys;
	struct quota quota;
	struct tally tally;
};

struct key {
	TAILQ_ENTRY(key) link;
	struct key *next; /* in its bucket of the hash table */
	char id[KEY_ID_SIZE];
	char name[KEY_NAME_SIZE];
	uint8_t hash[KEY_HASH_SIZE];
	struct team *team;
	char head[8], tail[8];
	uint32_t length;
	bool admin, local;
	bool used; /* since last written to the store */
	uint64_t created_ms, used_ms, expires_ms;
	struct bucket rate;
	struct quota quota;
	struct tally tally;
};

/* Loads the store, creates the default team, and sets its local admin key from key_file, which is created if it
 * does not exist. */
int keyring_open(struct store *s, const char *key_file, struct keyring **ret, struct err *e);

/* The same for a key without admin rights, for programs (atoll env). */
int keyring_add_sdk_key(struct keyring *k, const char *key_file, struct err *e);
void keyring_free(struct keyring *k); /* NULL is fine */

struct key *keyring_find(struct keyring *k, struct str secret, uint64_t now_wall_ms); /* NULL: unknown or expired */
struct team *keyring_default(struct keyring *k);
struct team *keyring_team(struct keyring *k, struct str id_or_name); /* NULL: unknown */
/* start with NULL; oldest first */
struct team *keyring_next_team(struct keyring *k, struct team *t);
struct key *keyring_key(struct keyring *k, const struct team *t, struct str id); /* NULL: no such key of that team */
/* start with NULL; oldest first */
struct key *keyring_next_key(struct keyring *k, struct key *key);

/* Returns -EEXIST if the name is taken. The text of e is for the client. */
int keyring_add_team(struct keyring *k, const char *name, int64_t max_sandboxes, int64_t rate_limit, struct team **ret,
    struct err *e);
int keyring_set_team(struct keyring *k, struct team *t, const struct team_row *to, struct err *e);
int keyring_drop_team(struct keyring *k, struct team *t, struct err *e); /* with its keys */

/* Creates a key. Its text is returned in secret and is not stored. */
int keyring_add_key(struct keyring *k, struct team *t, const char *name, bool admin, char secret[KEY_TEXT_SIZE],
    struct key **ret, struct err *e);
int keyring_rename_key(struct keyring *k, struct key *key, const char *name, struct err *e);
int keyring_expire_key(struct keyring *k, struct key *key, uint64_t at_wall_ms, struct err *e);
int keyring_drop_key(struct keyring *k, struct key *key, struct err *e);

/* Periodically: writes which keys were used, and removes expired ones. */
void keyring_tidy(struct keyring *k, uint64_t now_wall_ms);

void uuid_make(char ret[TEAM_ID_SIZE]);
void uuid_put(const uint8_t b[16], uint8_t version, char ret[TEAM_ID_SIZE]); /* a UUID from given bytes */
