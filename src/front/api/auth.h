/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/auth: authentication and authorization of requests to the control API. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "front/console/sessions.h"
#include "front/util/bucket.h"
#include "store/teams.h"

struct http_req;
struct api;

enum access {
	ACCESS_TEAM,    /* any valid key */
	ACCESS_OPEN,    /* no key needed */
	ACCESS_ADMIN,   /* an admin key */
	ACCESS_METRICS, /* an admin key; or none, for local requests, if the operator allows it */
};

struct caller {
	char team[TEAM_ID_SIZE]; /* "": none, on an open route */
	char key[TEAM_ID_SIZE];  /* id of the key; "": none */
	char key_name[64];
	char session[SESSION_ID_SIZE]; /* of the console; "": the request has a key */
	char user[SESSION_USER_SIZE];
	enum role role;
	bool admin;
	bool blocked;            /* the team is blocked: it may only read and delete */
	struct bucket_view rate; /* limit 0: no limit */
};

/* The header that each request of the console has: no page of another origin can send it. "poll" instead of "1": the
 * request is no sign that a person is there, and does not keep the session alive. */
#define CONSOLE_HEADER "x-atoll-console"

/* Returns 0, or an error with the message for the client: -EACCES 401, -EPERM 403, -ENOENT 404 (X-Team-ID),
 * -EDQUOT 429 (rate limit). */
int auth_check(struct api *a, const struct http_req *rq, enum access want, struct caller *ret, struct err *e);

/* The key itself, for the log-in to the console. Errors as above. */
int auth_key(struct api *a, const struct http_req *rq, struct str secret, struct caller *ret, struct key **ret_key,
    struct err *e);

/* The session that the cookie of the request names. NULL: there is none, or it is over. -EPERM in e->no: the request
 * does not come from a page of this server. */
struct session *auth_session(struct api *a, const struct http_req *rq, struct err *e);

/* What atoll-agent gets in place of a key, and may call back with: SESSION_KEY_PREFIX and the token of the session.
 * Nobody else can use it. Writes nothing for other requests. */
#define SESSION_KEY_PREFIX "session_"
void auth_put_session_key(const struct http_req *rq, struct buf *out);

/* The key in the request, in whichever header; STR_NULL: none. Points into the request. */
struct str auth_presented_key(const struct http_req *rq);
