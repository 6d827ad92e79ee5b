/* SPDX-License-Identifier: Apache-2.0 */
/* clients: a table with one entry per address of the instance. */
#include "egress/clients.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "egress/authority.h"
#include "ipc/rules.h"

#define REFUSED_EVERY_MS 60000
#define REFUSED_MAX 20 /* reports per client and interval */
#define PLACES 65536   /* an instance's range is a /16 */

struct clients {
	struct client *at[PLACES];
	clients_refused_fn *on_refused; /* or NULL */
	void *refused_user;
};

struct clients *clients_new(void)
{
	return calloc(1, sizeof(struct clients));
}

void clients_on_refused(struct clients *cs, clients_refused_fn *fn, void *user)
{
	cs->on_refused = fn;
	cs->refused_user = user;
}

void egress_client_refused(struct client *c, const char *name, uint32_t ip, uint16_t port, const char *why)
{
	uint64_t now = clock_mono_ms();

	if (!c->of->on_refused)
		return;
	if (c->refused == 0 || now - c->refused_since_ms >= REFUSED_EVERY_MS) {
		c->refused_since_ms = now;
		c->refused = 0;
	}
	if (c->refused < REFUSED_MAX) {
		c->refused++;
		c->of->on_refused(c->of->refused_user, c, name, ip, port, why);
	}
}

struct client *clients_find(const struct clients *cs, uint32_t ip)
{
	struct client *c = cs->at[ip % PLACES];

	return c && c->ip == ip ? c : NULL;
}

struct client *clients_find_id(const struct clients *cs, const char *id)
{
	for (size_t i = 0; i < PLACES; i++) {
		if (cs->at[i] && strcmp(cs->at[i]->id, id) == 0)
			return cs->at[i];
	}
	return NULL;
}

static void forget_rules(struct client *c)
{
	rules_free(c->rules);
	authority_free(c->authority);
	c->rules = NULL;
	c->authority = NULL;
}

int clients_set(struct clients *cs, uint32_t ip, const char *id, struct policy *p, struct client **ret)
{
	struct client *c = clients_find(cs, ip);

	if (!c) {
		assert(!cs->at[ip % PLACES]);
		c = calloc(1, sizeof *c);
	}
	if (!c) {
		policy_free(p);
		return -ENOMEM;
	}
	if (strcmp(c->id, id) != 0)
		forget_rules(c);
	policy_free(c->policy);
	c->of = cs;
	c->ip = ip;
	c->policy = p;
	memcpy(c->id, id, sizeof c->id);
	cs->at[ip % PLACES] = c;
	*ret = c;
	return 0;
}

void clients_clear(struct clients *cs, uint32_t ip)
{
	struct client *c = clients_find(cs, ip);

	if (!c)
		return;
	assert(!c->flows);
	cs->at[ip % PLACES] = NULL;
	forget_rules(c);
	policy_free(c->policy);
	free(c);
}

bool client_may_ask(const struct client *c, struct str name)
{
	return !(c->policy->flags & POLICY_DENY_ALL) || policy_name_find(c->policy, POLICY_ALLOW, name, 0);
}
