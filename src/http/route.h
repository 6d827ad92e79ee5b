/* SPDX-License-Identifier: Apache-2.0 */
/* http/route: finds the entry of a route table that matches a request.
 *
 * Each program has its own table with entries of its own type, whose first member is a struct http_route named
 * `on`. Paths are matched as sent, without decoding, so that an encoded '/' stays inside its segment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

#define HTTP_ROUTE_PARAMS 2 /* the most parameters a pattern may have */

struct http_route {
	const char *method;
	/* A path. A segment "{name}" matches any one non-empty segment; a last segment "{*}" matches the rest,
	 * which must not begin with an empty segment. */
	const char *pattern;
};

struct http_routes { /* a table: made by HTTP_ROUTES() */
	const struct http_route *first;
	size_t n, stride;
};

#define HTTP_ROUTES(table) ((struct http_routes) { &(table)[0].on, sizeof(table) / sizeof(table)[0], sizeof(table)[0] })

/* The index of the first entry whose method and pattern match, or -1. ret_params gets the raw texts of the
 * "{name}"s, STR_NULL for those that the pattern lacks; it is written only if an entry was found. The methods of
 * entries that match only by pattern are appended to allow, for an Allow header. */
ptrdiff_t http_route_find(struct http_routes table, struct str method, struct str path,
    struct str ret_params[HTTP_ROUTE_PARAMS], struct buf *allow);

/* For servers that route HEAD as GET and leave out the body of the answer. */
struct str http_route_method(struct str method);
