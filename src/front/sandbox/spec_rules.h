/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/spec_rules: 'rules' and 'egressProxy' of the field 'network': headers to add to requests, and the
 * proxy that connections go through. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

struct links;
struct policy;
struct rules;

/* Checks both fields and adds the resulting flags and names to the policy. Returns -EINVAL with a message that
 * names the field. */
int spec_rules(const json_t *network, struct policy *p, struct err *e);

/* Builds the rules of a checked network with the values of the team's secrets. If a secret is missing, its rule is
 * marked broken; with strict, the call fails with -EINVAL and a message for the client. */
int spec_rules_fill(const struct links *l, const char *team, const json_t *network, bool strict, struct rules **ret,
    struct err *e);

/* The network of a sandbox, for a copy of that sandbox: without all headers of 'rules' and without the credentials
 * for the proxy, because those values were meant for the original. The proxy itself stays, like everything that
 * restricts what can be reached. Returns a new reference. */
json_t *spec_network_bare(const json_t *network);
json_t *spec_network_shown(const json_t *network); /* without secret values; new reference */
bool spec_network_secret(const json_t *network);   /* whether it has values that must not be stored in plain text */
