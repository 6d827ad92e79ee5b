/* SPDX-License-Identifier: Apache-2.0 */
/* http/peers: connections by address. */
#include "http/peers.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/rand.h"
#include "http/conn.h"

void peers_init(struct peers *ps)
{
	*ps = (struct peers) { 0 };
	rand_bytes(&ps->seed, sizeof ps->seed);
	for (size_t i = 0; i < PEERS_CLASSES; i++)
		TAILQ_INIT(&ps->classes[i]);
}

static struct in6_addr machine_of(const struct sockaddr_storage *from)
{
	struct in6_addr a = { 0 };

	if (from && from->ss_family == AF_INET6) {
		a = ((const struct sockaddr_in6 *)from)->sin6_addr;
		if (!IN6_IS_ADDR_V4MAPPED(&a))
			memset(a.s6_addr + 8, 0, 8);
	} else if (from && from->ss_family == AF_INET) {
		a.s6_addr[10] = a.s6_addr[11] = 0xff;
		memcpy(a.s6_addr + 12, &((const struct sockaddr_in *)from)->sin_addr, 4);
	}
	return a;
}

/* Keyed, so that a client that can choose its address cannot choose the chain. */
static struct peer_chain *chain_of(struct peers *ps, const struct in6_addr *a)
{
	uint64_t half[2], h = ps->seed;

	memcpy(half, a, sizeof half);
	for (size_t i = 0; i < 2; i++) {
		h ^= half[i];
		h *= 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
		h *= 0xbf58476d1ce4e5b9u ^ ps->seed << 1;
		h ^= h >> 32;
	}
	return &ps->chains[h & (PEERS_HASH - 1)];
}

static struct peer_list *class_of(struct peers *ps, const struct peer *p)
{
	return &ps->classes[31 - __builtin_clz(p->n)];
}

/* Changes the count, which may move the peer to another class; there it becomes the most recent one. */
static void set_count(struct peers *ps, struct peer *p, uint32_t n)
{
	bool idle = !TAILQ_EMPTY(&p->idle);

	if (idle)
		TAILQ_REMOVE(class_of(ps, p), p, in_class);
	p->n = n;
	if (idle)
		TAILQ_INSERT_HEAD(class_of(ps, p), p, in_class);
}

struct peer *peers_join(struct peers *ps, const struct sockaddr_storage *from)
{
	struct in6_addr a = machine_of(from);
	struct peer_chain *chain = chain_of(ps, &a);
	struct peer *p;

	SLIST_FOREACH(p, chain, in_chain)
	{
		if (memcmp(&p->addr, &a, sizeof a) == 0) {
			set_count(ps, p, p->n + 1);
			return p;
		}
	}
	p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	p->addr = a;
	p->n = 1;
	TAILQ_INIT(&p->idle);
	SLIST_INSERT_HEAD(chain, p, in_chain);
	return p;
}

void peers_leave(struct peers *ps, struct peer *p)
{
	if (p->n > 1) {
		set_count(ps, p, p->n - 1);
		return;
	}
	SLIST_REMOVE(chain_of(ps, &p->addr), p, peer, in_chain);
	free(p);
}

void peers_idle(struct peers *ps, struct http_conn *c, bool on)
{
	struct peer *p = c->peer;

	if (!TAILQ_EMPTY(&p->idle))
		TAILQ_REMOVE(class_of(ps, p), p, in_class);
	if (c->is_idle) {
		TAILQ_REMOVE(&p->idle, c, idle);
		ps->n_idle--;
	}
	if (on) {
		TAILQ_INSERT_HEAD(&p->idle, c, idle);
		ps->n_idle++;
	}
	c->is_idle = on;
	if (!TAILQ_EMPTY(&p->idle))
		TAILQ_INSERT_HEAD(class_of(ps, p), p, in_class);
}

struct http_conn *peers_victim(const struct peers *ps)
{
	for (size_t i = PEERS_CLASSES; i-- > 0;) {
		const struct peer *p = TAILQ_LAST(&ps->classes[i], peer_list);

		if (p)
			return TAILQ_LAST(&p->idle, conn_list);
	}
	return NULL;
}
