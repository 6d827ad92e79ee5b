/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/limits: the limits of a sandbox as in the API.
 *
 *	memoryMB swapMB diskMB cpus processes openFiles ioMBps iops egressMB egressKBps
 *
 * Defaults and maxima come from the configuration of the template, or from the general one. Teams and keys may
 * have lower maxima. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "ipc/msg.h"

struct accounts;

struct limits_range {
	struct msg_limits defaults, maxima;
};

/* The configured limits of templates with that name; else those of `first`, the first name of the same image
 * (NULL: none), so that an alias does not bypass them; else the general ones. */
void limits_of_name(const struct accounts *a, const char *name, const char *first, struct limits_range *ret);

/* Lowers both defaults and maxima to `by`, where that is set (0: not set); for teams and keys with lower maxima. */
void limits_narrow(struct limits_range *r, const struct msg_limits *by);

/* Applies the object o to *l: an absent field is unchanged, null sets the default. Returns -EINVAL, naming the
 * field. prefix: prepended to field names in errors. */
int limits_read(const json_t *o, const char *prefix, const struct limits_range *r, struct msg_limits *l, struct err *e);

/* Parses maxima, each at most `most`; an absent field is unchanged, null removes the maximum. */
int limits_read_maxima(const json_t *o, const char *prefix, const struct msg_limits *most, struct msg_limits *l,
    struct err *e);

json_t *limits_json(const struct msg_limits *l);        /* no limit: null */
json_t *limits_maxima_json(const struct msg_limits *l); /* only the fields that are set */

/* Lowers l to the current maxima: limits that were allowed once may be above them. */
void limits_clip(struct msg_limits *l, const struct msg_limits *most);
bool limits_equal(const struct msg_limits *a, const struct msg_limits *b);
