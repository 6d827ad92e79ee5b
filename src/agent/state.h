/* SPDX-License-Identifier: Apache-2.0 */
/* agent/state: the state that the handlers of atoll-agent share: settings, policy, sessions, cached results. There is
 * one per process. Thread-safe. */
#pragma once

#include <jansson.h>

#include "base/err.h"
#include "base/str.h"
#include "client/atoll.h"

struct caller;
struct loop;
struct agent_request;

#define STATE_OWNER_SIZE 128
#define STATE_AGENT "default" /* agent name of requests without one */

enum state_counter {
	COUNT_OK,
	COUNT_ERROR,
	COUNT_CACHED,
	COUNT_FAILED,
	COUNT_REFUSED,
	COUNT_WARNED,
	COUNT_RECOVERED,
	COUNT_MESSAGES,
	COUNT_END
};

struct shared_state {
	struct atoll_agent_settings *settings; /* with the policy */
	struct atoll_sessions *sessions;
	struct atoll_cache *cache;
};

/* Reads the settings and the session log. Called before the process is confined. */
int state_open(const char *state_dir, const char *config, struct loop *l, struct err *e);
const struct shared_state *state(void);

/* The owner of the caller's sessions: its team, so that sessions outlive keys. */
void state_owner(const struct caller *who, char ret[STATE_OWNER_SIZE]);

void state_disconnected(const struct caller *who, const char *agent); /* the connection of that agent is closed */

void state_count(enum state_counter what);
uint64_t state_counted(enum state_counter what);

/* False: the client's breaker is open, so no call is made; see e. */
bool state_can_execute(const struct atoll *a, struct atoll_error *e);

/* Calls fn, which needs a sandbox, unless the breaker is open. The result counts for the breaker. */
int state_try(struct atoll *a, int (*fn)(void *user, struct atoll_error *e), void *user, struct atoll_error *e);

/* Creates or finds a session. *ret_made: it was created. */
int state_session(struct atoll *a, const struct atoll_session_spec *spec, bool get, struct atoll_session *ret,
    bool *ret_made, struct atoll_error *e);

/* The key's id, name or team, whichever the policy lists; NULL: none of them. */
const char *state_policy_key(const struct caller *who);

/* Records in the audit log what the policy found in a call of `what` (EXECUTE_CODE, run_command): the rule, never the
 * text. True: refused. */
bool state_refuses(const struct agent_request *rq, const struct atoll_verdict *verdict, const char *what,
    const char *session_id);

/* Records one execution in the audit log: a hash of the code and the outcome, not the code. */
void state_executed(const struct agent_request *rq, const char *session_id, const char *language, struct str code,
    const char *outcome);
