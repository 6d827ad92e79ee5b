/* SPDX-License-Identifier: Apache-2.0 */
/* clients: the sandboxes with a policy, by the source address that their packets are pinned to. */
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
	struct rules *rules;         /* from the front; NULL: not received yet */
	struct authority *authority; /* NULL: not needed so far */
	struct flow *flows;          /* its connections; proxy.c maintains the list */
	unsigned n_flows;
	uint64_t refused_since_ms; /* start of the interval in which refused counts the reports */
	unsigned refused;
};

/* Reports a refusal, at most a few per sandbox and minute. name "": the connection named no host. ip and port 0:
 * the name lookup was refused. */
typedef void clients_refused_fn(void *user, const struct client *c, const char *name, uint32_t ip, uint16_t port,
    const char *why);

struct clients *clients_new(void); /* NULL: out of memory */
void clients_on_refused(struct clients *cs, clients_refused_fn *fn, void *user);
void egress_client_refused(struct client *c, const char *name, uint32_t ip, uint16_t port, const char *why);
struct client *clients_find(const struct clients *cs, uint32_t ip); /* NULL: it has no policy */

struct client *clients_find_id(const struct clients *cs, const char *id);

/* Owns the policy, also on failure (-ENOMEM). The rules stay if the id is the same. The caller must recheck the
 * client's connections. */
int clients_set(struct clients *cs, uint32_t ip, const char *id, struct policy *p, struct client **ret);
void clients_clear(struct clients *cs, uint32_t ip); /* its connections must be closed already */

/* Whether the name may be looked up. A policy that allows names only refuses lookups of other names, because a
 * query can carry data out. */
bool client_may_ask(const struct client *c, struct str name);
