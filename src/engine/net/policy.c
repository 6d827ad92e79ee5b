/* SPDX-License-Identifier: Apache-2.0 */
/* net_policy: writes the chains of one sandbox. */
#include "engine/net/policy.h"

#include "engine/engine.h"
#include "engine/net/nft.h"
#include "engine/slot.h"

#define TEXT_MAX (256 * 1024)

struct out {
	struct buf *b;
	uint32_t instance, slot;
};

static void put_rule(const struct out *o, const char *chain)
{
	buf_fmt(o->b, "add rule inet atoll%u %s%u ", o->instance, chain, o->slot);
}

static void put_element(const struct out *o, const char *verb, const char *set, const char *chain)
{
	buf_fmt(o->b, "%s element inet atoll%u %s { \"at%us%u\"", verb, o->instance, set, o->instance, o->slot);
	if (chain)
		buf_fmt(o->b, " : jump %s%u", chain, o->slot);
	buf_z(o->b, " }\n");
}

/* Adds to or removes from a set. Adding an existing element is no error, but deleting a missing one is. */
static void put_member(const struct out *o, const char *set, const char *chain, bool in)
{
	put_element(o, "add", set, chain);
	if (!in)
		put_element(o, "delete", set, NULL);
}

static void put_net(const struct out *o, const char *chain, const struct engine_net *net, const char *verdict)
{
	static const char *const protos[] = { "tcp", "udp" };
	bool ports = net->port_lo > 0;

	for (size_t i = 0; i < (ports ? 2 : 1); i++) {
		put_rule(o, chain);
		if (net->len > 0) {
			buf_z(o->b, "ip daddr ");
			nft_put_range(o->b, (struct inet_range) { net->ip, net->len });
			buf_ch(o->b, ' ');
		}
		if (ports)
			buf_fmt(o->b, "%s dport %u-%u ", protos[i], net->port_lo, net->port_hi);
		buf_fmt(o->b, "%s\n", verdict);
	}
}

static void put_nets(const struct out *o, const char *chain, const struct engine_policy *p, bool allow,
    const char *verdict)
{
	for (uint32_t i = 0; i < p->n_nets; i++) {
		if (p->nets[i].allow == allow)
			put_net(o, chain, &p->nets[i], verdict);
	}
}

static void put_forwarded(const struct out *o, const struct engine_policy *p)
{
	/* Traffic meant for the proxy must not bypass it over UDP (QUIC). */
	for (uint32_t i = 0; p->all_through && i < p->n_ports; i++) {
		put_rule(o, "rules");
		buf_fmt(o->b, "udp dport %u-%u jump refuse\n", p->ports[i].lo, p->ports[i].hi);
	}
	if (p->all_through) { /* traffic meant for the proxy must not reach the server directly */
		struct slot s;

		slot_fill(o->instance, o->slot, &s);
		put_rule(o, "rules");
		buf_z(o->b, "ip daddr ");
		nft_put_ip(o->b, s.names);
		buf_z(o->b, " jump refuse\n");
	}
	put_nets(o, "rules", p, true, "return");
	put_nets(o, "rules", p, false, "jump refuse");
	if (p->deny_all) {
		put_rule(o, "rules");
		buf_z(o->b, "jump refuse\n");
	}
}

static void put_diverted(const struct out *o, uint16_t proxy_port, const struct engine_policy *p)
{
	struct slot s;

	slot_fill(o->instance, o->slot, &s);
	put_rule(o, "divert");
	buf_z(o->b, "fib daddr type local return\n"); /* the host itself: refused as always */
	if (!p->all_through)
		put_nets(o, "divert", p, true, "return");
	for (uint32_t i = 0; i < p->n_ports; i++) {
		put_rule(o, "divert");
		buf_fmt(o->b, "tcp dport %u-%u dnat ip to ", p->ports[i].lo, p->ports[i].hi);
		nft_put_ip(o->b, s.gateway);
		buf_fmt(o->b, ":%u\n", proxy_port);
	}
}

void net_policy_text(struct buf *out, uint32_t instance, uint32_t slot, uint16_t proxy_port, bool silent,
    const struct engine_policy *p)
{
	const struct out o = { out, instance, slot };
	static const char *const chains[] = { "rules", "divert" };
	bool divert = p && p->n_ports > 0 && proxy_port;

	for (size_t i = 0; i < 2; i++) {
		buf_fmt(out, "add chain inet atoll%u %s%u\n", instance, chains[i], slot);
		buf_fmt(out, "flush chain inet atoll%u %s%u\n", instance, chains[i], slot);
	}
	if (p)
		put_forwarded(&o, p);
	if (divert)
		put_diverted(&o, proxy_port, p);
	put_member(&o, "ruled", "rules", p != NULL);
	put_member(&o, "diverted", "divert", divert);
	put_member(&o, "mute", NULL, p && p->no_dns);
	put_member(&o, "silent", NULL, silent);
	put_member(&o, "waiting", NULL, false);
	for (size_t i = 0; !p && i < 2; i++)
		buf_fmt(out, "delete chain inet atoll%u %s%u\n", instance, chains[i], slot);
}

int net_policy_set(uint32_t instance, uint32_t slot, uint16_t proxy_port, bool silent, const struct engine_policy *p,
    struct err *e)
{
	autobuf struct buf b = BUF_INIT(TEXT_MAX);

	net_policy_text(&b, instance, slot, proxy_port, silent, p);
	const char *text = buf_cstr(&b);

	if (!text)
		return err_set(e, ENOMEM, "write the policy");
	return nft_run(text, e) < 0 ? err_wrap(e, "change the policy") : 0;
}
