/* SPDX-License-Identifier: Apache-2.0 */
/* resolve: a small cache in front of the forwarder. */
#include "egress/resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "egress/dns.h"
#include "egress/forward.h"
#include "ipc/policy.h"
#include "loop/loop.h"

#define PLACES 1024 /* one entry per hash; a later name replaces an earlier one */
#define TTL_MIN_S 2
#define TTL_MAX_S 300

struct entry {
	char name[POLICY_NAME_SIZE];
	uint64_t until_ms;
	size_t n;
	uint32_t addrs[RESOLVE_ADDRS_MAX];
};

struct resolver {
	struct loop *loop;
	struct forwarder *fw;
	struct entry *at[PLACES];
};

struct resolve {
	struct resolver *rv;
	char name[POLICY_NAME_SIZE];
	struct forward *f;
	struct timer *timer; /* for a cached answer, which is also delivered from the loop */
	uint32_t addrs[RESOLVE_ADDRS_MAX];
	size_t n;
	resolve_fn *fn;
	void *user;
};

struct resolver *resolver_new(struct loop *l, struct forwarder *fw)
{
	struct resolver *rv = calloc(1, sizeof *rv);

	if (rv) {
		rv->loop = l;
		rv->fw = fw;
	}
	return rv;
}

static struct entry **place_of(struct resolver *rv, const char *name)
{
	uint32_t h = 2166136261u;

	for (const char *c = name; *c; c++)
		h = (h ^ (uint8_t)*c) * 16777619u;
	return &rv->at[h % PLACES];
}

static const struct entry *cached(struct resolver *rv, const char *name)
{
	const struct entry *en = *place_of(rv, name);

	return en && strcmp(en->name, name) == 0 && loop_now_ms(rv->loop) < en->until_ms ? en : NULL;
}

static void keep(struct resolver *rv, const char *name, const uint32_t *addrs, size_t n, uint32_t ttl_s)
{
	struct entry **at = place_of(rv, name);

	if (!*at)
		*at = calloc(1, sizeof **at);
	if (!*at)
		return;
	ttl_s = ttl_s < TTL_MIN_S ? TTL_MIN_S : ttl_s > TTL_MAX_S ? TTL_MAX_S : ttl_s;
	memcpy((*at)->name, name, sizeof(*at)->name);
	memcpy((*at)->addrs, addrs, n * sizeof *addrs);
	(*at)->n = n;
	(*at)->until_ms = loop_now_ms(rv->loop) + 1000ull * ttl_s;
}

static void resolve_done(struct resolve *r, const uint32_t *addrs, size_t n)
{
	resolve_fn *fn = r->fn;
	void *user = r->user;

	r->f = NULL;
	resolve_cancel(r);
	fn(user, addrs, n);
}

static void on_answer(void *user, const uint8_t *p, size_t n)
{
	struct resolve *r = user;
	uint32_t addrs[RESOLVE_ADDRS_MAX], ttl_s;
	int found = dns_addresses(p, n, addrs, RESOLVE_ADDRS_MAX, &ttl_s);

	if (found > 0)
		keep(r->rv, r->name, addrs, (size_t)found, ttl_s);
	resolve_done(r, addrs, found > 0 ? (size_t)found : 0);
}

static void on_cached(void *user)
{
	struct resolve *r = user;
	uint32_t addrs[RESOLVE_ADDRS_MAX];

	memcpy(addrs, r->addrs, sizeof addrs);
	resolve_done(r, addrs, r->n);
}

int resolve_ask(struct resolver *rv, uint32_t client, struct str name, resolve_fn *fn, void *user, struct resolve **ret)
{
	struct dns_query q;
	struct resolve *r = calloc(1, sizeof *r);
	int no = r ? dns_query_for(name, DNS_TYPE_A, &q) : -ENOMEM;

	if (no == 0 && !str_copy(r->name, sizeof r->name, name))
		no = -EINVAL;
	if (no < 0) {
		free(r);
		return no;
	}
	r->rv = rv;
	r->fn = fn;
	r->user = user;
	const struct entry *en = cached(rv, r->name);

	if (en) {
		memcpy(r->addrs, en->addrs, sizeof r->addrs);
		r->n = en->n;
		r->timer = timer_new(rv->loop, on_cached, r);
		no = r->timer ? 0 : -ENOMEM;
		if (r->timer)
			timer_arm(r->timer, 0);
	} else {
		no = forward_ask(rv->fw, client, &q, on_answer, r, &r->f);
	}
	if (no < 0) {
		free(r);
		return no;
	}
	*ret = r;
	return 0;
}

void resolve_cancel(struct resolve *r)
{
	if (!r)
		return;
	forward_cancel(r->f);
	timer_free(r->timer);
	free(r);
}
