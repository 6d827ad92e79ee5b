/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/spec_egress: what a sandbox may reach, read from its field 'network'. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

struct policy;

/* network: checked to be an object, or NULL. no_internet: allow_internet_access is false, which is a denyOut of all.
 * *ret_silent: it reaches nothing at all; *ret: what it reaches else, NULL: everything. -EINVAL with a text that
 * names the field. */
int spec_egress(const json_t *network, bool no_internet, struct policy **ret, bool *ret_silent, struct err *e);
