/* SPDX-License-Identifier: Apache-2.0 */
/* sessions: what the files of the session manager share. */
#pragma once

#include <pthread.h>

#include "client/agent/redact.h"
#include "client/client.h"

#define SESSIONS_TIMEOUT_MAX_MS 86400000u

enum session_state {
	SESSION_MAKING, /* its first sandbox, or another one: who wants to use it waits */
	SESSION_READY,
	SESSION_GONE, /* whoever holds it frees it */
};

struct session {
	struct session *next;
	struct atoll_session pub;
	enum session_state state;
	unsigned users; /* threads that wait for it */
	unsigned runs;  /* that are under way in it: it does not expire */
	char *json;     /* of its sandbox, with the token; NULL: not known yet */
	/* its variables, a JSON object; NULL: none. For each sandbox that it goes on in */
	char *envs;
	int64_t extended_ms;    /* when the sandbox was last given more time, */
	int64_t until_ms;       /* and until when; 0: not known */
	bool from_snapshot;     /* its sandbox is made from one */
	bool empty;             /* its sandbox is known to be gone: it does not count */
	bool left;              /* its client has closed its connection, and nobody has used it since */
	struct secrets secrets; /* of its sandbox */
	bool secrets_known;
};

struct atoll_sessions {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* the state of a session */
	struct session *all;    /* oldest first */
	struct atoll_sessions_config cfg;
	char *environment;
	struct atoll_retry retry;
};

int64_t sessions_now(struct atoll_sessions *m);
/* with the lock; NULL: no such */
struct session *sessions_find(struct atoll_sessions *m, const char *owner, const char *id);

/* atoll_session_open() for what may take run_ms: the sandbox is there for at least as long. */
int sessions_open(struct atoll_sessions *m, struct atoll *a, const char *owner, const char *id,
    const char *recovered_from, uint64_t run_ms, struct atoll_sandbox **ret, bool *ret_recovered,
    struct atoll_error *e);

/* Around what runs in a session, however long that takes. One that is not there is none to begin with, or has been
 * ended meanwhile. */
void sessions_run_begin(struct atoll_sessions *m, const char *owner, const char *id);
void sessions_run_end(struct atoll_sessions *m, const char *owner, const char *id);

/* The connection of the client whose session that agent has was closed: when there is no room, it goes first. */
void sessions_leave(struct atoll_sessions *m, const char *owner, const char *agent_id);

/* --- sessions.c, for session_open.c --- */

int sessions_wait_ready(struct atoll_sessions *m, struct session *s, struct atoll_error *e);
int sessions_none(struct atoll_error *e, const char *id);
void sessions_last_snapshot(struct atoll *a, const char *sandbox_id, char ret[128]);
int sessions_make_sandbox(struct atoll_sessions *m, struct atoll *a, const struct atoll_session *s,
    const char *template_id, const char *envs, struct atoll_sandbox **ret, struct atoll_error *e);
int sessions_make_room(struct atoll_sessions *m, struct atoll *a, const struct atoll_session *as,
    struct atoll_error *e);
int sessions_settle(struct atoll_sessions *m, struct session *s, struct atoll_sandbox *sb, struct atoll_session *ret);

/* --- session_envs.c --- */

struct session_envs { /* variables, taken apart */
	struct atoll_pair *v;
	size_t n;
	json_t *object; /* which v points into */
};

/* as text; NULL if there are none */
int session_envs_take(const struct atoll_pair *v, size_t n, char **ret, struct atoll_error *e);
void session_envs_forget(char *envs); /* wiped and freed; NULL is fine */
/* envs NULL: there are none */
int session_envs_read(const char *envs, struct session_envs *ret, struct atoll_error *e);
/* with what each sandbox of a session gets besides */
int session_envs_for_sandbox(const char *envs, struct session_envs *ret, struct atoll_error *e);
void session_envs_done(struct session_envs *s);
