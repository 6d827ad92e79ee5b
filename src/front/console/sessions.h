/* SPDX-License-Identifier: Apache-2.0 */
/* front/console/sessions: who is logged in to the console. A copy of the store in memory.
 *
 * A session acts for the API key that it was made with, with at most its rights, and ends with it. It ends when it was
 * not used for some time, and at a fixed time. Their number is limited per key or user, per team and in all: one too
 * many replaces the one that was not used for longest. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/err.h"
#include "base/str.h"
#include "front/account/keyring.h"
#include "front/util/token.h"
#include "store/sessions.h"

#define SESSION_ID_SIZE 17
#define SESSION_USER_SIZE 128
#define SESSIONS_OF_KEY 32
#define SESSIONS_OF_TEAM 256
#define SESSIONS_MAX 4096

enum role { ROLE_VIEWER, ROLE_MEMBER, ROLE_ADMIN }; /* written to the store */

struct session {
	TAILQ_ENTRY(session) link; /* oldest first */
	struct session *next;      /* in its bucket */
	uint8_t hash[SESSION_HASH_SIZE];
	char id[SESSION_ID_SIZE]; /* for records; no secret */
	char team[TEAM_ID_SIZE], key[KEY_ID_SIZE];
	char user[SESSION_USER_SIZE];
	enum role role;
	uint64_t created_ms, used_ms, expires_ms;
	bool used;          /* since last written */
	struct bucket rate; /* of a session without a key, which has its own otherwise */
};

struct session_who {
	const struct team *team;
	const struct key *key; /* NULL: a user of the OpenID provider */
	const char *user;      /* "": none */
	enum role role;
	uint64_t life_ms; /* at most; 0: as long as any */
};

struct sessions;

/* idle_ms, life_ms: when sessions end. basis: the settings that gave users without a key their roles; with other ones
 * than last time, their sessions are over. "": there are no such users. */
int console_sessions_new(struct store *s, uint64_t idle_ms, uint64_t life_ms, const char *basis, struct sessions **ret,
    struct err *e);
void console_sessions_free(struct sessions *s); /* NULL is fine */
size_t console_sessions_count(const struct sessions *s);

/* NULL: unknown or over. */
struct session *session_find(struct sessions *s, struct str token, uint64_t now_ms);
void session_touch(struct session *se, uint64_t now_ms);                      /* it was used */
uint64_t session_ends_ms(const struct sessions *s, const struct session *se); /* if it is not used again */

/* Its token is returned and not stored. */
int session_make(struct sessions *s, const struct session_who *who, uint64_t now_ms, char token[TOKEN_SIZE],
    struct session **ret, struct err *e);
void session_end(struct sessions *s, struct session *se, const char *why);

/* The key and the team of the session, if both may still be used. Otherwise ends the session and returns false.
 * ret_key: NULL for a session without a key. */
bool session_owner(struct sessions *s, struct session *se, struct keyring *kr, uint64_t now_ms, struct team **ret_team,
    struct key **ret_key);

/* Periodically: writes which were used, and ends those that are over. */
void console_sessions_tidy(struct sessions *s, struct keyring *kr, uint64_t now_ms);
