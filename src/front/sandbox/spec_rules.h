/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/spec_rules: 'rules' and 'egressProxy' of the field 'network': what is put into requests, and by which
 * proxy they leave. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

struct links;
struct policy;
struct rules;

/* Checks both, and adds to the policy what it has to know of them. -EINVAL with a text that names the field. */
int spec_rules(const json_t *network, struct policy *p, struct err *e);

/* The rules of a checked network, with the team's secrets filled in. A secret that is missing makes its rule broken;
 * strict: it is an error, -EINVAL, with a text for the client. */
int spec_rules_fill(const struct links *l, const char *team, const json_t *network, bool strict, struct rules **ret,
    struct err *e);

/* Of another sandbox, for a copy of it: without the values that were meant for that one, which are all headers of
 * 'rules' and who it is to the proxy. The proxy itself stays, like all else that narrows what can be reached. New
 * reference. */
json_t *spec_network_bare(const json_t *network);
json_t *spec_network_shown(const json_t *network); /* without what must not be shown; new reference */
bool spec_network_secret(const json_t *network);   /* does it hold what must not be readable on the disk? */
