/* SPDX-License-Identifier: Apache-2.0 */
/* clients: the sandboxes that have a policy, by the address that their packets are pinned to. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ipc/msg.h"
#include "ipc/policy.h"

struct authority;
struct clients;
struct flow;
struct rules;

struct client {
	struct clients *of;
	uint32_t ip;
	char id[ID_SIZE];
	struct policy *policy;
	struct rules *rules;         /* from the front, NULL: not told yet */
	struct authority *authority; /* NULL: none was needed so far */
	struct flow *flows;          /* its connections; proxy.c keeps the list */
	unsigned n_flows;
	uint64_t refused_since_ms; /* how often somebody was told of a refusal since then */
	unsigned refused;
};

/* Somebody wants to know what is refused to sandboxes: of each a few in a minute. name "": none was said; ip and port
 * 0: it got no further than asking for the name. */
typedef void clients_refused_fn(void *user, const struct client *c, const char *name, uint32_t ip, uint16_t port,
    const char *why);

struct clients *clients_new(void); /* NULL: no memory */
void clients_on_refused(struct clients *cs, clients_refused_fn *fn, void *user);
void egress_client_refused(struct client *c, const char *name, uint32_t ip, uint16_t port, const char *why);
struct client *clients_find(const struct clients *cs, uint32_t ip); /* NULL: it has no policy */

struct client *clients_find_id(const struct clients *cs, const char *id);

/* Takes the policy, also on failure (-ENOMEM). Rules stay if it is of the same sandbox. What its connections may go
 * on with is for the caller to find out. */
int clients_set(struct clients *cs, uint32_t ip, const char *id, struct policy *p, struct client **ret);
void clients_clear(struct clients *cs, uint32_t ip); /* its connections must be gone */

/* May that name be looked up? Where only names are allowed, others are not even asked for: a query can carry anything
 * out. */
bool client_may_ask(const struct client *c, struct str name);
