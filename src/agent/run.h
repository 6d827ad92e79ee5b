/* SPDX-License-Identifier: Apache-2.0 */
/* agent/run: one piece of code in a session: made ready, looked at by the policy, run, recorded. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "client/atoll.h"

struct agent_request;

struct run_outcome {
	json_t *json; /* {"success","language","text","results","logs","error"?,"cached"?,"recovered"?,...}; new
			 reference */
	bool success; /* it ran, and ended without an error */
	bool away;    /* the server could not be reached */
};

struct run_place { /* where: a session, which may be made only when the code is found fit to run */
	struct atoll *a;
	const char *owner, *session_id;
	const char *dir; /* where the code begins; NULL: where its context is */
	/* fills a and session_id; NULL: they are there */
	int (*make)(struct run_place *p, struct atoll_error *e);
	void *user;
};

/* The HTTP status that fits: 200 whenever the code was run, whatever came of it. */
int run_in_session(struct agent_request *rq, struct run_place *p, const char *language, const char *code,
    unsigned timeout_ms, struct run_outcome *ret);

struct atoll_list;
json_t *agent_sandbox_rows(const struct atoll_list *l);
/* timeout_ms, in whatever spelling; *ret stays if there is none */
int take_timeout(const json_t *body, int64_t *ret, struct err *why);
json_t *agent_session_json(const struct atoll_session *s);
