/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/spec_egress: what a sandbox may reach, parsed from the field 'network'. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

struct policy;

/* network: an object, or NULL. no_internet: allow_internet_access is false, which equals a denyOut of everything.
 * *ret_silent: the sandbox may reach nothing. *ret: otherwise what it may reach, NULL: everything. Returns -EINVAL
 * with a message that names the field. */
int spec_egress(const json_t *network, bool no_internet, struct policy **ret, bool *ret_silent, struct err *e);
