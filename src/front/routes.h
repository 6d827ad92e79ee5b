/* SPDX-License-Identifier: Apache-2.0 */
/* front/routes: the table of the control API. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

struct req;

struct route {
	const char *method, *pattern;	/* "{}" stands for one non-empty segment */
	bool open;			/* needs no key */
	size_t body_max;
	void (*handler)(struct req *r);
};

/* The route, or NULL. Matched on the raw path, so that an encoded '/' stays inside its segment; *ret_param is the
 * raw text of "{}". *ret_allow lists the methods of the path when only the method is wrong. HEAD counts as GET. */
const struct route *route_find(struct str method, struct str path, struct str *ret_param, struct buf *ret_allow);
