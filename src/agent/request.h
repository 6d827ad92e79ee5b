/* SPDX-License-Identifier: Apache-2.0 */
/* agent/request: one request that the front forwarded, as its handler sees it.
 *
 * A handler (agent/routes.h) runs on its own thread and may block, mostly in libatoll with the client that
 * agent_request_client() returns. That client has exactly the caller's rights, and its calls fail with -ECANCELED when
 * the caller disconnects. The handler answers once before it returns: whole (agent_request_json, agent_request_error)
 * or streamed (agent_request_begin, agent_request_write). If it does not, the caller gets 500. The request lives until
 * the handler returns. */
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

struct caller {    /* authenticated by the front */
	char *key; /* the API key; "": none, the server is open */
	/* Team id. State that is kept for a caller belongs to its team and key only. */
	char *team;
	char *key_id;   /* "": none */
	char *key_name; /* chosen by the key's owner, so not to be trusted */
	char *request;  /* id of the request, for logs */
	bool admin;
};

struct agent_request {
	struct caller who;
	char *method, *path; /* "POST", "/agent/sessions/abc" */
	char *param;         /* decoded value of the route's {}; NULL: the route has none */
	char *query;         /* still encoded; may be "" */
	struct str body;     /* all of it */
	/* Header fields; "" if absent: */
	char *accept, *session, *protocol, *content_type, *rpc_method, *rpc_name;
	char *url;                     /* the server's URL as the caller sees it: "http://127.0.0.1:8080" */
	void *data;                    /* of the handler */
	void (*data_free)(void *data); /* called with data at the end, if set */
};

/* The caller's sandboxes and sessions. NULL: failed, see e. Borrowed until the handler returns. */
struct sandbox_cache *agent_request_cache(struct agent_request *rq, struct atoll_error *e);
/* The caller's client; likewise. */
struct atoll *agent_request_client(struct agent_request *rq, struct atoll_error *e);
/* The body as an object, a new reference. NULL: it is not one, and 400 was sent. */
json_t *agent_request_body(struct agent_request *rq, bool allow_empty);
bool agent_request_gone(const struct agent_request *rq); /* the client has disconnected */

void agent_request_json(struct agent_request *rq, int status, json_t *j); /* takes j */
/* headers: header fields, each ending in CRLF, or NULL */
void agent_request_text(struct agent_request *rq, int status, const char *type, const char *headers, struct str body);
void agent_request_error(struct agent_request *rq, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void agent_request_fail(struct agent_request *rq,
    const struct atoll_error *ae); /* libatoll's error, with a matching status */

/* Streamed response. Writing blocks while the client is slow, except in a quick handler. */
void agent_request_begin(struct agent_request *rq, int status, const char *type, const char *headers);
void agent_request_write(struct agent_request *rq, struct str data);

/* Keeps the response open after the handler returns, until agent_request_end(). on_gone is called once on the loop when
 * the response ends or the client disconnects; the request must not be used after that. */
void agent_request_stay(struct agent_request *rq, void (*on_gone)(struct agent_request *rq, void *user), void *user);
void agent_request_end(struct agent_request *rq);

/* Writes a record to the audit log. Takes ownership of the event ({"kind" or "event", "sandbox", "session", "fields" or
 * others}, see front/record/audit.h); adds request, team and key. The event must not contain secrets. */
void agent_request_audit(const struct agent_request *rq, json_t *event);

/* For atoll_set_stop(): has the client of this thread's handler disconnected, or cancelled the tool call? */
bool agent_request_stopping(void *user);

/* --- for main.c --- */

void agent_requests_open(struct loop *l, struct worker_pool *w);
void agent_request_arrive(struct http_req *rq); /* reads the body, then calls the handler */
