/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/limits: the limits of a sandbox in the API's words.
 *
 *	memoryMB swapMB diskMB cpus processes openFiles ioMBps iops egressMB egressKBps
 *
 * What a sandbox gets when nobody says otherwise, and the most that it may have, is what the configuration says of its
 * template, or of all; a team or a key may be allowed less. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "ipc/msg.h"

struct accounts;

struct limits_range {
	struct msg_limits defaults, maxima;
};

/* What the configuration says of templates of that name; else of `first`, the first name of the same image (NULL:
 * none), so that another name is no way around its limits; else of all. */
void limits_of_name(const struct accounts *a, const char *name, const char *first, struct limits_range *ret);

/* Neither above `by` in what that limits (0: not at all); for teams and keys, which may be allowed less than others. */
void limits_narrow(struct limits_range *r, const struct msg_limits *by);

/* The object o over *l: a field that is absent stays, null is the default. -EINVAL names the field. prefix: of the
 * names in errors. */
int limits_read(const json_t *o, const char *prefix, const struct limits_range *r, struct msg_limits *l, struct err *e);

/* Maxima alone, each within `most`; absent stays, null is none of its own. */
int limits_read_maxima(const json_t *o, const char *prefix, const struct msg_limits *most, struct msg_limits *l,
    struct err *e);

json_t *limits_json(const struct msg_limits *l);        /* no limit: null */
json_t *limits_maxima_json(const struct msg_limits *l); /* only those that there are */

/* What was allowed once may be above what is allowed now. */
void limits_clip(struct msg_limits *l, const struct msg_limits *most);
bool limits_equal(const struct msg_limits *a, const struct msg_limits *b);
