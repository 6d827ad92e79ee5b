/* SPDX-License-Identifier: Apache-2.0 */
/* http/route: finds the entry of a table of routes that a request is for.
 *
 * Each program has a table of its own, of entries of its own type; the first member of that type is a struct
 * http_route named `on`. Paths are matched raw, as they were sent, so that an encoded '/' stays inside its segment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

#define HTTP_ROUTE_PARAMS 2 /* a pattern has no more parameters */

struct http_route {
	const char *method;
	/* A path. A segment "{name}" stands for any one non-empty segment, a last segment "{*}" for all that is left,
	 * which must not begin with an empty segment. */
	const char *pattern;
};

struct http_routes { /* a table: made by HTTP_ROUTES() */
	const struct http_route *first;
	size_t n, stride;
};

#define HTTP_ROUTES(table) ((struct http_routes) { &(table)[0].on, sizeof(table) / sizeof(table)[0], sizeof(table)[0] })

/* The index of the first entry whose method and pattern fit, or -1. ret_params gets the raw texts of the "{name}"s,
 * STR_NULL for those that the pattern lacks; it is written only if an entry was found. The methods of entries whose
 * pattern fits and whose method does not are appended to allow, which then makes a header Allow. */
ptrdiff_t http_route_find(struct http_routes table, struct str method, struct str path,
    struct str ret_params[HTTP_ROUTE_PARAMS], struct buf *allow);

/* A HEAD request is routed as GET by servers that leave the body out of its answer. */
struct str http_route_method(struct str method);
