/* SPDX-License-Identifier: Apache-2.0 */
/* policy: converts the front's policy to the engine's. */
#include "warden/policy.h"

#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "ipc/policy.h"

_Static_assert(ENGINE_NETS_MAX >= POLICY_NETS_MAX, "the engine takes all of them");

struct held_policy *held_policy_new(const void *bytes, size_t n)
{
	struct held_policy *h = malloc(sizeof *h + n);

	if (h) {
		h->n = n;
		memcpy(h->bytes, bytes, n);
	}
	return h;
}

bool held_policy_proxied(const struct held_policy *h)
{
	struct policy_head head = { 0 };

	if (h && h->n >= sizeof head)
		memcpy(&head, h->bytes, sizeof head);
	return head.n_names > 0 || (head.flags & POLICY_SOCKS);
}

static bool ports_add(struct engine_policy *p, uint16_t lo, uint16_t hi)
{
	for (uint32_t i = 0; i < p->n_ports; i++) {
		if (p->ports[i].lo <= lo && p->ports[i].hi >= hi)
			return true;
	}
	if (p->n_ports == ENGINE_PORTS_MAX)
		return false;
	p->ports[p->n_ports++] = (struct engine_ports) { lo, hi };
	return true;
}

static int fill(const struct policy *from, struct engine_policy *to, struct err *e)
{
	bool names = policy_has_names(from, POLICY_ALLOW);

	to->deny_all = from->flags & POLICY_DENY_ALL;
	to->no_dns = to->deny_all && !names;
	if (from->flags & POLICY_SOCKS) { /* TCP only, and all of it */
		to->deny_all = to->all_through = true;
		to->no_dns = (from->flags & POLICY_DENY_ALL) && !names;
		(void)ports_add(to, 1, 65535);
		return 0;
	}
	to->all_through = policy_has_names(from, POLICY_REWRITE);
	for (uint32_t i = 0; i < from->n_nets; i++) {
		const struct policy_net *n = &from->nets[i];

		to->nets[to->n_nets++] = (struct engine_net) { n->ip, n->port_lo, n->port_hi, n->len, n->allow };
	}
	for (uint32_t i = 0; i < from->n_names; i++) {
		if (!ports_add(to, from->names[i].port_lo, from->names[i].port_hi))
			return err_set(e, E2BIG, "more than %d ranges of ports in domain rules", ENGINE_PORTS_MAX);
	}
	return 0;
}

int policy_for_engine(const struct held_policy *h, struct engine_policy *ret, struct err *e)
{
	struct policy *p = NULL;
	int r = policy_decode(h->bytes, h->n, &p);

	if (r < 0)
		return err_set(e, -r, "read the policy: %s", strerror(-r));
	memset(ret, 0, sizeof *ret);
	r = fill(p, ret, e);
	policy_free(p);
	return r;
}
