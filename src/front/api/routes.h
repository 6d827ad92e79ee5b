/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/routes: the table of the control API. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"
#include "front/api/auth.h"
#include "http/route.h"

struct req;

struct route {
	struct http_route on;
	enum access access;
	size_t body_max;
	void (*handler)(struct req *r);
	/* A body that is taken as it comes, instead of being kept until the handler is called: */
	int (*begin)(struct req *r); /* before it; has answered if it returns less than 0 */
	void (*on_data)(struct req *r, struct str data);
	void (*on_lost)(struct req *r); /* the client has gone before its end */
	/* ... and an answer that comes in pieces: */
	void (*on_drain)(struct req *r); /* its queue is low again */
	void (*on_over)(struct req *r);  /* last, whatever became of it */
	bool warden;                     /* can do nothing without it */
	/* a GET or DELETE that is more than a look or a removal: not for blocked teams */
	bool busy;
	bool quiet; /* asked for all the time: no line in the log when all is well */
};

/* The route, or NULL; see http_route_find(). HEAD counts as GET. */
const struct route *route_find(struct str method, struct str path, struct str ret_params[HTTP_ROUTE_PARAMS],
    struct buf *ret_allow);

/* May a team that is blocked use it? As on E2B: to see what it has, and to remove it. */
bool route_for_blocked(const struct route *r);

const struct route *route_at(size_t i);    /* NULL: no such */
size_t route_index(const struct route *r); /* METRICS_ROUTES_MAX for NULL */
