/* SPDX-License-Identifier: Apache-2.0 */
/* sessions: declarations shared by the files of the session manager. */
#pragma once

#include <pthread.h>

#include "client/agent/redact.h"
#include "client/client.h"

#define SESSIONS_TIMEOUT_MAX_MS 86400000u

enum session_state {
	SESSION_MAKING, /* its sandbox is being created; callers wait */
	SESSION_READY,
	SESSION_GONE, /* freed by the last thread that waits for it */
};

struct session {
	struct session *next;
	struct atoll_session pub;
	enum session_state state;
	unsigned users; /* threads waiting for it */
	unsigned runs;  /* runs in progress; it does not expire meanwhile */
	char *json;     /* of its sandbox, with the token; NULL: not known yet */
	/* Its variables, a JSON object, or NULL. Each new sandbox gets them. */
	char *envs;
	int64_t extended_ms;    /* when the sandbox's lifetime was last extended */
	int64_t until_ms;       /* end of that lifetime; 0: unknown */
	bool from_snapshot;     /* its sandbox was created from a snapshot */
	bool empty;             /* its sandbox has ended; does not count */
	bool left;              /* its client disconnected, and it was not used since */
	struct secrets secrets; /* of its sandbox */
	bool secrets_known;
};

struct atoll_sessions {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* signals changes of a session's state */
	struct session *all;    /* oldest first */
	struct atoll_sessions_config cfg;
	char *environment;
	struct atoll_retry retry;
};

int64_t sessions_now(struct atoll_sessions *m);
/* Called with the lock held. Returns NULL if there is no such session. */
struct session *sessions_find(struct atoll_sessions *m, const char *owner, const char *id);

/* Like atoll_session_open(), for a run of up to run_ms: the sandbox lives at least as long. */
int sessions_open(struct atoll_sessions *m, struct atoll *a, const char *owner, const char *id,
    const char *recovered_from, uint64_t run_ms, struct atoll_sandbox **ret, bool *ret_recovered,
    struct atoll_error *e);

/* Mark the beginning and end of a run in a session. They do nothing if the session does not exist or has ended. */
void sessions_run_begin(struct atoll_sessions *m, const char *owner, const char *id);
void sessions_run_end(struct atoll_sessions *m, const char *owner, const char *id);

/* Notes that the client of this agent's session has disconnected, so that the session is evicted first. */
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

struct session_envs { /* parsed variables */
	struct atoll_pair *v;
	size_t n;
	json_t *object; /* owns the strings in v */
};

/* Converts variables to text; NULL if there are none. */
int session_envs_take(const struct atoll_pair *v, size_t n, char **ret, struct atoll_error *e);
void session_envs_forget(char *envs); /* wipes and frees; accepts NULL */
/* Parses the text; envs may be NULL. */
int session_envs_read(const char *envs, struct session_envs *ret, struct atoll_error *e);
/* Does the same, and adds the variables that each sandbox of a session gets. */
int session_envs_for_sandbox(const char *envs, struct session_envs *ret, struct atoll_error *e);
void session_envs_done(struct session_envs *s);
