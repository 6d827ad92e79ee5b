/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/auth: authentication and authorization of requests to the control API. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
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
	bool admin;
	bool blocked;            /* the team is blocked: it may only read and delete */
	struct bucket_view rate; /* limit 0: no limit */
};

/* Returns 0, or an error with the message for the client: -EACCES 401, -EPERM 403, -ENOENT 404 (X-Team-ID),
 * -EDQUOT 429 (rate limit). */
int auth_check(struct api *a, const struct http_req *rq, enum access want, struct caller *ret, struct err *e);

/* The key in the request, in whichever header; STR_NULL: none. Points into the request. */
struct str auth_presented_key(const struct http_req *rq);
