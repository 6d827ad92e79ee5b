/* SPDX-License-Identifier: Apache-2.0 */
/* agent/state: what the handlers of atoll-agent share: settings, policy, sessions, results. There is one; any thread
 * may use it. */
#pragma once

#include <jansson.h>

#include "base/err.h"
#include "base/str.h"
#include "client/atoll.h"

struct caller;
struct loop;
struct agent_request;

#define STATE_OWNER_SIZE 128
#define STATE_AGENT "default" /* of whoever names none */

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

/* Before the cage is closed: reads the settings and the records of sessions. */
int state_open(const char *state_dir, const char *config, struct loop *l, struct err *e);
const struct shared_state *state(void);

/* Whose sessions they are: the team's, so that they outlive each of its keys. */
void state_owner(const struct caller *who, char ret[STATE_OWNER_SIZE]);

void state_disconnected(const struct caller *who, const char *agent); /* the connection of that agent is closed */

void state_count(enum state_counter what);
uint64_t state_counted(enum state_counter what);

/* False: calls of this client have failed so often that none is made just now, and e says so. */
bool state_can_execute(const struct atoll *a, struct atoll_error *e);

/* Something that needs a sandbox: not tried while too much of it fails; how it went is counted. */
int state_try(struct atoll *a, int (*fn)(void *user, struct atoll_error *e), void *user, struct atoll_error *e);

/* A session, made or found: *ret_made if it was made. */
int state_session(struct atoll *a, const struct atoll_session_spec *spec, bool get, struct atoll_session *ret,
    bool *ret_made, struct atoll_error *e);

/* By which of its names the policy knows the key: its id, its name, its team; NULL: by none. */
const char *state_policy_key(const struct caller *who);

/* Tells the audit log of what the policy found in a call of `what` (EXECUTE_CODE, run_command): the rule, never the
 * text. True: it is refused. */
bool state_refuses(const struct agent_request *rq, const struct atoll_verdict *verdict, const char *what,
    const char *session_id);

/* One execution, for the audit log: a hash of the code and how it ended, not the code. */
void state_executed(const struct agent_request *rq, const char *session_id, const char *language, struct str code,
    const char *outcome);
