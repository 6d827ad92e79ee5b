/* SPDX-License-Identifier: Apache-2.0 */
/* agent/run: prepares code, checks it against the policy, runs it in a session and records it. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "client/atoll.h"

struct agent_request;

struct run_outcome {
	json_t *json; /* {"success","language","text","results","logs","error"?,"cached"?,"recovered"?,...}; new
			 reference */
	bool success; /* the code ran without an error */
	bool away;    /* the server could not be reached */
};

struct run_place { /* a session; it may be created only after the code has passed the checks */
	struct atoll *a;
	const char *owner, *session_id;
	const char *dir; /* working directory; NULL: the context's */
	/* Fills in a and session_id; NULL: they are set. */
	int (*make)(struct run_place *p, struct atoll_error *e);
	void *user;
};

/* Returns the HTTP status: 200 if the code ran, even if it failed. */
int run_in_session(struct agent_request *rq, struct run_place *p, const char *language, const char *code,
    unsigned timeout_ms, struct run_outcome *ret);

struct atoll_list;
json_t *agent_sandbox_rows(const struct atoll_list *l);
/* Reads timeout_ms in any of its spellings; *ret is unchanged if it is absent. */
int take_timeout(const json_t *body, int64_t *ret, struct err *why);
json_t *agent_session_json(const struct atoll_session *s);
