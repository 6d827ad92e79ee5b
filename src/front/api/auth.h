/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/auth: who calls the control API, and may it? */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "front/util/bucket.h"
#include "store/teams.h"

struct http_req;
struct front;

enum access {
	ACCESS_TEAM,    /* any good key */
	ACCESS_OPEN,    /* no key needed */
	ACCESS_ADMIN,   /* an admin key */
	ACCESS_METRICS, /* an admin key, or nobody's when the operator opened it */
};

struct caller {
	char team[TEAM_ID_SIZE]; /* "": none, on an open route */
	char key[TEAM_ID_SIZE];  /* id of it; "": none */
	char key_name[64];
	bool admin;
	bool blocked;            /* its team is: it may look and delete, no more */
	struct bucket_view rate; /* limit 0: none */
};

/* 0; or what to answer, with the text for the client: -EACCES 401, -EPERM 403, -ENOENT 404 (X-Team-ID), -EDQUOT 429
 * (rate). */
int auth_check(struct front *f, const struct http_req *rq, enum access want, struct caller *ret, struct err *e);

/* The key that a request came with, in whichever header; STR_NULL: none. Borrowed from it. */
struct str auth_presented_key(const struct http_req *rq);

/* Did a program of this machine send it? Not the pages that somebody's browser has open: those send an Origin, or come
 * under a host name of their own choice. And not whom a proxy lets in. For listeners on loopback addresses. */
bool auth_is_from_here(const struct front *f, const struct http_req *rq);
