/* SPDX-License-Identifier: Apache-2.0 */
/* agent/request: one request that the front has passed on, as its handler sees it.
 *
 * A handler (agent/routes.h) runs on a thread of its own and may block: in calls of libatoll above all, with the client
 * that agent_request_client() gives. That client has the rights of whoever asked and no others, and its calls end with
 * -ECANCELED when whoever asked has gone. The handler answers once, whole (agent_request_json, agent_request_error) or
 * in pieces (agent_request_begin, agent_request_write), before it returns; if it does not, the visitor gets 500. What
 * is in the visit lives until the handler returns. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct atoll;
struct atoll_error;
struct sandbox_cache;
struct http_req;
struct loop;
struct route;
struct agent_request;
struct worker_pool;

struct caller {    /* who asks; the front has checked it */
	char *key; /* the API key; "": none, the server is open */
	/* id; all that is kept for a caller is the team's and the key's, never anybody else's */
	char *team;
	char *key_id;   /* "": none */
	char *key_name; /* whoever has the key may give it any */
	char *request;  /* id of the request, for logs */
	bool admin;
};

struct agent_request {
	struct caller who;
	char *method, *path; /* "POST", "/agent/sessions/abc" */
	char *param;         /* what stands for the {} of the route, decoded; NULL without one */
	char *query;         /* still encoded, may be "" */
	struct str body;     /* all of it */
	/* Header lines; "" without: */
	char *accept, *session, *protocol, *content_type, *rpc_method, *rpc_name;
	char *url;                     /* where the caller reaches the server: "http://127.0.0.1:8080" */
	void *work;                    /* of the handler; */
	void (*work_free)(void *work); /* ... called with it at the end, if it is set */
};

/* likewise: the caller's sandboxes and sessions */
struct sandbox_cache *agent_request_cache(struct agent_request *rq, struct atoll_error *e);
/* NULL: e tells; lent until the handler returns */
struct atoll *agent_request_client(struct agent_request *rq, struct atoll_error *e);
/* an object; answers 400 by itself and returns NULL. New reference */
json_t *agent_request_body(struct agent_request *rq, bool allow_empty);
bool agent_request_gone(const struct agent_request *rq); /* nobody waits for the answer any more */

void agent_request_json(struct agent_request *rq, int status, json_t *j); /* takes j */
/* headers: lines, or NULL */
void agent_request_text(struct agent_request *rq, int status, const char *type, const char *headers, struct str body);
void agent_request_error(struct agent_request *rq, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void agent_request_fail(struct agent_request *rq,
    const struct atoll_error *ae); /* what libatoll said, with the status that fits */

/* In pieces. Writing waits while the visitor is slow (not in a handler that is quick). */
void agent_request_begin(struct agent_request *rq, int status, const char *type, const char *headers);
void agent_request_write(struct agent_request *rq, struct str data);

/* The answer goes on after the handler has returned, until agent_request_end(). on_gone comes once, on the loop, when
 * it is over, be it by that or because the visitor has left; the visit must not be touched after it. */
void agent_request_stay(struct agent_request *rq, void (*on_gone)(struct agent_request *rq, void *user), void *user);
void agent_request_end(struct agent_request *rq);

/* One record of the audit log: takes the event ({"kind" or "event", "sandbox", "session", "fields" or others}, see
 * front/record/audit.h), adds request, team and key. Text that may hold secrets must not be in it. */
void agent_request_audit(const struct agent_request *rq, json_t *event);

/* Has the visitor of this thread's handler gone, or given up the call of a tool? For atoll_set_stop(). */
bool agent_request_stopping(void *user);

/* --- for main.c --- */

void agent_requests_open(struct loop *l, struct worker_pool *w);
void agent_request_arrive(struct http_req *rq); /* reads the body, then calls the handler */
