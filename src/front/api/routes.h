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
	/* For routes that process the body in pieces instead of storing it: */
	int (*begin)(struct req *r); /* before the body; if it returns a negative value, it has sent an answer */
	void (*on_data)(struct req *r, struct str data);
	void (*on_lost)(struct req *r); /* the client has disconnected before the end of the body */
	/* For answers that are sent in pieces: */
	void (*on_drain)(struct req *r); /* the send queue is low again */
	void (*on_over)(struct req *r);  /* called last, in any case */
	bool warden;                     /* fails without the warden */
	/* A GET or DELETE that does more than read or delete: not for blocked teams. */
	bool busy;
	bool quiet; /* frequent: not logged if successful */
};

/* Finds the route, or returns NULL; see http_route_find(). HEAD is treated as GET. */
const struct route *route_find(struct str method, struct str path, struct str ret_params[HTTP_ROUTE_PARAMS],
    struct buf *ret_allow);

/* Whether a blocked team may use it. As on E2B, such a team may read and delete what it has. */
bool route_for_blocked(const struct route *r);

/* Whether someone who may only look may use it. */
bool route_for_viewer(const struct route *r);

const struct route *route_at(size_t i);    /* NULL: i is out of range */
size_t route_index(const struct route *r); /* METRICS_ROUTES_MAX if r is NULL */
