/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/spec_egress: converts allowOut and denyOut of the field 'network' into the policy that the warden
 * enforces.
 *
 * An entry is an address, a CIDR range or, in allowOut, a domain name. A suffix ":PORT" or ":PORT-PORT" restricts
 * it to these ports. Allowed entries take precedence over denied ones. IPv6 addresses are accepted and have no
 * effect, because sandboxes have no IPv6. */
#include "front/sandbox/spec_egress.h"

#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/inet.h"
#include "front/sandbox/spec.h"
#include "front/sandbox/spec_rules.h"
#include "ipc/policy.h"

#define DNS_SERVERS_MAX 10

enum entry_kind { ENTRY_NET, ENTRY_V6, ENTRY_NAME };

struct entry {
	enum entry_kind kind;
	struct inet_range net;
	char name[POLICY_NAME_SIZE];
	uint16_t port_lo, port_hi; /* 0: none given */
};

struct lists {
	struct policy *p;
	bool deny_all, allow_all;
};

/* Ports of a name without ports: the protocols there usually show the host name. */
static const uint16_t name_ports[] = { 80, 443 };

static int entry_name(struct str text, char out[POLICY_NAME_SIZE])
{
	if (text.n > 1 && text.p[text.n - 1] == '.')
		text.n--;
	if (!str_copy(out, POLICY_NAME_SIZE, text))
		return -EINVAL;
	for (char *c = out; *c; c++)
		*c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
	return strlen(out) == text.n && policy_name_ok(str_of(out)) ? 0 : -EINVAL;
}

static int entry_parse(struct str text, struct entry *ret)
{
	struct str ports = text;
	struct str host = str_cut(&ports, ':');

	*ret = (struct entry) { .kind = ENTRY_V6 };
	if (inet_is_v6(text))
		return 0;
	if (ports.p && inet_ports_parse(ports, &ret->port_lo, &ret->port_hi) < 0)
		return -EINVAL;
	if (inet_parse(host, &ret->net) == 0) {
		ret->kind = ENTRY_NET;
		return ret->net.ip == 0 && ret->net.len > 0 ? -EINVAL : 0; /* 0.0.0.0 is no valid destination */
	}
	ret->kind = ENTRY_NAME;
	return entry_name(host, ret->name);
}

static int add_net(struct lists *l, const struct entry *en, bool allow)
{
	bool ports = en->port_lo > 0;
	struct policy_net net = {
		.ip = en->net.ip,
		.len = en->net.len,
		.allow = allow,
		.port_lo = en->port_lo,
		.port_hi = ports ? en->port_hi : 65535,
	};

	if (en->net.len > 0 || ports)
		return policy_add_net(l->p, &net);
	if (allow)
		l->allow_all = true;
	else
		l->deny_all = true;
	return 0;
}

static int add_name(struct lists *l, const struct entry *en)
{
	struct str name = str_of(en->name);

	if (en->port_lo)
		return policy_add_name(l->p, POLICY_ALLOW, name, en->port_lo, en->port_hi);
	for (size_t i = 0; i < ARRAY_LEN(name_ports); i++) {
		int r = policy_add_name(l->p, POLICY_ALLOW, name, name_ports[i], name_ports[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

static int parse_list(const json_t *network, const char *field, bool allow, struct lists *l, struct err *e)
{
	const json_t *list = json_object_get(network, field), *v;
	size_t i;

	if (!list || json_is_null(list))
		return 0;
	if (!json_is_array(list))
		return err_set(e, EINVAL, "field 'network.%s' must be an array", field);
	json_array_foreach((json_t *)list, i, v)
	{
		struct str text = { json_string_value(v), json_string_length(v) };
		struct entry en;
		int r = text.p ? entry_parse(text, &en) : -EINVAL;

		if (r < 0 || (en.kind == ENTRY_NAME && !allow))
			return err_set(e, EINVAL, "field 'network.%s[%zu]': '%.*s' is not an IP address%s", field, i,
			    text.n > 80 ? 80 : (int)text.n, text.p ? text.p : "",
			    allow ? ", a CIDR range or a domain name" : " or a CIDR range");
		if (en.kind == ENTRY_NAME)
			r = add_name(l, &en);
		else if (en.kind == ENTRY_NET)
			r = add_net(l, &en, allow);
		if (r < 0)
			return err_set(e, EINVAL, "field 'network.%s' has too many entries", field);
	}
	return 0;
}

/* dnsServers: resolvers that a sandbox restricted to names may send anything to, for its own lookups. It has no
 * effect without names. */
static int parse_dns(const json_t *network, struct lists *l, struct err *e)
{
	const json_t *list = json_object_get(network, "dnsServers"), *v;
	bool names = l->p->n_names > 0;
	size_t i;

	if (!list || json_is_null(list))
		return 0;
	if (!json_is_array(list) || json_array_size(list) > DNS_SERVERS_MAX)
		return err_set(e, EINVAL, "field 'network.dnsServers' must be an array of at most %d IPv4 addresses",
		    DNS_SERVERS_MAX);
	json_array_foreach((json_t *)list, i, v)
	{
		struct entry en = { .kind = ENTRY_NET };
		struct str text = { json_string_value(v), json_string_length(v) };

		if (!text.p || memchr(text.p, '/', text.n) || inet_parse(text, &en.net) < 0 || en.net.ip == 0)
			return err_set(e, EINVAL, "field 'network.dnsServers[%zu]' must be an IPv4 address", i);
		if (names && add_net(l, &en, true) < 0)
			return err_set(e, EINVAL, "field 'network.dnsServers' has too many entries");
	}
	return 0;
}

/* Removes redundant entries. */
static void simplify(struct lists *l)
{
	struct policy *p = l->p;
	uint32_t n = 0;

	if (l->allow_all)
		l->deny_all = false;
	for (uint32_t i = 0; i < p->n_nets; i++) {
		if (!l->allow_all && (p->nets[i].allow || !l->deny_all))
			p->nets[n++] = p->nets[i];
	}
	p->n_nets = n;
	if (l->allow_all)
		p->n_names = 0;
	if (l->deny_all)
		p->flags |= POLICY_DENY_ALL;
}

static int parse(const json_t *network, struct lists *l, struct err *e)
{
	autobuf struct buf size = BUF_INIT(POLICY_MAX);

	if (parse_list(network, "denyOut", false, l, e) < 0 || parse_list(network, "allowOut", true, l, e) < 0 ||
	    parse_dns(network, l, e) < 0)
		return -e->no;
	bool names = l->p->n_names > 0;

	if (names && !l->deny_all && !l->allow_all)
		return err_set(e, EINVAL,
		    "field 'network.allowOut' has domain names, so 'network.denyOut' must have '0.0.0.0/0' "
		    "(ALL_TRAFFIC): "
		    "what else is reached cannot be told by name");
	simplify(l);
	if (spec_rules(network, l->p, e) < 0)
		return -e->no;
	policy_encode(l->p, &size);
	return size.bad ? err_set(e, EINVAL, "field 'network' has too many entries") : 0;
}

int spec_egress(const json_t *network, bool no_internet, struct policy **ret, bool *ret_silent, struct err *e)
{
	struct lists l = { .p = policy_new(0), .deny_all = no_internet };

	*ret = NULL;
	if (!l.p)
		return err_set(e, ENOMEM, "out of memory");
	if (network && parse(network, &l, e) < 0) {
		policy_free(l.p);
		return -e->no;
	}
	/* If nothing is allowed, there are no requests to rewrite either. */
	*ret_silent = l.deny_all && l.p->n_nets == 0 && !policy_has_names(l.p, POLICY_ALLOW);
	if (!*ret_silent && (l.p->n_nets > 0 || l.p->n_names > 0 || (l.p->flags & POLICY_SOCKS))) {
		*ret = l.p;
		return 0;
	}
	policy_free(l.p);
	return 0;
}
