/* SPDX-License-Identifier: Apache-2.0 */
/* sessions: what the files of the session manager share. */
#pragma once

#include <pthread.h>

#include "client/client.h"
#include "client/redact.h"

enum session_state {
	SESSION_MAKING,			/* its first sandbox, or another one: who wants to use it waits */
	SESSION_READY,
	SESSION_GONE,			/* whoever holds it frees it */
};

struct session {
	struct session *next;
	struct atoll_session pub;
	enum session_state state;
	unsigned users;			/* threads that wait for it */
	unsigned runs;			/* that are under way in it: it does not expire */
	char *json;			/* of its sandbox, with the token; NULL: not known yet */
	int64_t extended_ms;		/* when the sandbox was last given more time */
	bool from_snapshot;		/* its sandbox is made from one */
	struct secrets secrets;		/* of its sandbox */
	bool secrets_known;
};

struct atoll_sessions {
	pthread_mutex_t lock;
	pthread_cond_t changed;		/* the state of a session */
	struct session *all;		/* oldest first */
	struct atoll_sessions_config cfg;
	char *environment;
	struct atoll_retry retry;
};

int64_t sessions_now(struct atoll_sessions *m);

/* Around what runs in a session, however long that takes. One that is not there is none to begin with, or has been ended meanwhile. */
void sessions_run_begin(struct atoll_sessions *m, const char *owner, const char *id);
void sessions_run_end(struct atoll_sessions *m, const char *owner, const char *id);
