/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/policy: encoding and decoding, and matching of entries. */
#include "ipc/policy.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/inet.h"

#define LABEL_MAX 63

static bool label_ok(struct str l)
{
	if (l.n == 0 || l.n > LABEL_MAX || l.p[0] == '-' || l.p[l.n - 1] == '-')
		return false;
	for (size_t i = 0; i < l.n; i++) {
		char c = l.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'))
			return false;
	}
	return true;
}

static bool all_digits(struct str l)
{
	for (size_t i = 0; i < l.n; i++) {
		if (l.p[i] < '0' || l.p[i] > '9')
			return false;
	}
	return true;
}

bool policy_name_ok(struct str name)
{
	struct str rest = name, label = STR_NULL;

	if (name.n == 0 || name.n > POLICY_NAME_MAX)
		return false;
	if (str_is(name, "*"))
		return true;
	if (str_starts(rest, "*."))
		str_skip(&rest, 2);
	while (rest.p) {
		label = str_cut(&rest, '.');
		if (!label_ok(label))
			return false;
	}
	return !all_digits(label); /* an address, or an invalid one */
}

bool policy_name_match(struct str pattern, struct str name)
{
	if (name.n == 0)
		return false;
	if (str_is(pattern, "*"))
		return true;
	if (!str_starts(pattern, "*."))
		return str_eq(pattern, name);
	str_skip(&pattern, 1);
	return name.n > pattern.n && str_eq(pattern, (struct str) { name.p + name.n - pattern.n, pattern.n });
}

struct policy *policy_new(uint32_t flags)
{
	struct policy *p = calloc(1, sizeof *p);

	if (p)
		p->flags = flags;
	return p;
}

void policy_free(struct policy *p)
{
	if (!p)
		return;
	free(p->nets);
	free(p->names);
	free(p);
}

/* Makes room for one more entry, doubling the size. */
static int grow(void **at, uint32_t n, size_t size, uint32_t max)
{
	if (n >= max)
		return -E2BIG;
	if ((n & (n - 1)) != 0) /* not a power of two: there is room */
		return 0;
	void *more = realloc(*at, (n ? (size_t)n * 2 : 1) * size);

	if (!more)
		return -ENOMEM;
	*at = more;
	return 0;
}

int policy_add_net(struct policy *p, const struct policy_net *net)
{
	int r = grow((void **)&p->nets, p->n_nets, sizeof *p->nets, POLICY_NETS_MAX);

	if (r == 0)
		p->nets[p->n_nets++] = *net;
	return r;
}

int policy_add_name(struct policy *p, enum policy_kind kind, struct str name, uint16_t port_lo, uint16_t port_hi)
{
	int r = grow((void **)&p->names, p->n_names, sizeof *p->names, POLICY_NAMES_MAX);

	if (r < 0)
		return r;
	struct policy_name *to = &p->names[p->n_names];

	*to = (struct policy_name) { .port_lo = port_lo, .port_hi = port_hi, .kind = kind };
	if (!str_copy(to->text, sizeof to->text, name))
		return -E2BIG;
	p->n_names++;
	return 0;
}

void policy_encode(const struct policy *p, struct buf *out)
{
	struct policy_head h = { .flags = p->flags, .n_nets = (uint16_t)p->n_nets, .n_names = (uint16_t)p->n_names };

	buf_put(out, &h, sizeof h);
	buf_put(out, p->nets, p->n_nets * sizeof *p->nets);
	for (uint32_t i = 0; i < p->n_names; i++) {
		const struct policy_name *nm = &p->names[i];
		size_t n = strlen(nm->text);
		struct policy_name_head nh = {
			.port_lo = nm->port_lo,
			.port_hi = nm->port_hi,
			.kind = (uint8_t)nm->kind,
			.n = (uint8_t)n,
		};

		buf_put(out, &nh, sizeof nh);
		buf_put(out, nm->text, n);
	}
}

/* Consumes n bytes of the input. */
static bool take(struct str *in, void *to, size_t n)
{
	if (in->n < n)
		return false;
	memcpy(to, in->p, n);
	str_skip(in, n);
	return true;
}

static bool net_ok(const struct policy_net *net)
{
	return net->len <= 32 && net->allow <= 1 && net->port_lo <= net->port_hi && net->pad[0] == 0 &&
	    net->pad[1] == 0 && inet_in((struct inet_range) { net->ip, net->len }, net->ip) &&
	    (net->port_lo > 0 || net->port_hi == 65535);
}

static int decode_names(struct str *in, uint16_t count, struct policy *p)
{
	for (uint16_t i = 0; i < count; i++) {
		struct policy_name_head h;

		if (!take(in, &h, sizeof h) || in->n < h.n)
			return -EBADMSG;
		struct str name = { in->p, h.n };

		if (!policy_name_ok(name) || (h.kind != POLICY_ALLOW && h.kind != POLICY_REWRITE) || h.port_lo == 0 ||
		    h.port_lo > h.port_hi)
			return -EBADMSG;
		int r = policy_add_name(p, (enum policy_kind)h.kind, name, h.port_lo, h.port_hi);

		if (r < 0)
			return r;
		str_skip(in, h.n);
	}
	return 0;
}

static int decode(struct str in, struct policy *p)
{
	struct policy_head h;
	struct policy_net net;
	int r = 0;

	if (in.n > POLICY_MAX || !take(&in, &h, sizeof h) || (h.flags & ~POLICY_FLAGS_ALL) ||
	    h.n_nets > POLICY_NETS_MAX || h.n_names > POLICY_NAMES_MAX)
		return -EBADMSG;
	p->flags = h.flags;
	for (uint16_t i = 0; r == 0 && i < h.n_nets; i++)
		r = take(&in, &net, sizeof net) && net_ok(&net) ? policy_add_net(p, &net) : -EBADMSG;
	if (r == 0)
		r = decode_names(&in, h.n_names, p);
	return r < 0 ? r : in.n > 0 ? -EBADMSG : 0;
}

int policy_decode(const void *bytes, size_t n, struct policy **ret)
{
	struct policy *p = policy_new(0);
	int r = p ? decode((struct str) { bytes, n }, p) : -ENOMEM;

	if (r < 0) {
		policy_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

int policy_net_verdict(const struct policy *p, uint32_t ip, uint16_t port)
{
	bool refused = p->flags & POLICY_DENY_ALL;

	for (uint32_t i = 0; i < p->n_nets; i++) {
		const struct policy_net *n = &p->nets[i];

		if (!inet_in((struct inet_range) { n->ip, n->len }, ip) || port < n->port_lo || port > n->port_hi)
			continue;
		if (n->allow)
			return 1;
		refused = true;
	}
	return refused ? -1 : 0;
}

bool policy_name_find(const struct policy *p, enum policy_kind kind, struct str name, uint16_t port)
{
	for (uint32_t i = 0; i < p->n_names; i++) {
		const struct policy_name *nm = &p->names[i];

		if (nm->kind == kind && (port == 0 || (port >= nm->port_lo && port <= nm->port_hi)) &&
		    policy_name_match(str_of(nm->text), name))
			return true;
	}
	return false;
}

bool policy_port_named(const struct policy *p, uint16_t port)
{
	for (uint32_t i = 0; i < p->n_names; i++) {
		if (port >= p->names[i].port_lo && port <= p->names[i].port_hi)
			return true;
	}
	return false;
}

bool policy_port_rewritten(const struct policy *p, uint16_t port)
{
	for (uint32_t i = 0; i < p->n_names; i++) {
		const struct policy_name *n = &p->names[i];

		if (n->kind == POLICY_REWRITE && port >= n->port_lo && port <= n->port_hi)
			return true;
	}
	return false;
}

bool policy_has_names(const struct policy *p, enum policy_kind kind)
{
	for (uint32_t i = 0; i < p->n_names; i++) {
		if (p->names[i].kind == kind)
			return true;
	}
	return false;
}
