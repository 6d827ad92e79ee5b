/* SPDX-License-Identifier: Apache-2.0 */
/* http/peers: whose connections a server has, and which of them gives its place up when all are taken. Internal to
 * http/.
 *
 * The connections of one address belong together, those of one IPv6 /64 too: that is what one machine has. When room is
 * needed, the address with most places gives one up, the one that has had no request for longest.
 *
 * This takes the same few steps however many there are, so a flood costs no more per connection than calm does:
 * addresses are kept in classes of about the same size (1, 2–3, 4–7, ... connections), and in each class in the order
 * in which one of their connections last became idle. With one connection per address that is exactly the order of
 * age. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct http_conn;
struct sockaddr_storage;

#define PEERS_HASH 1024 /* a power of two */
#define PEERS_CLASSES 32

TAILQ_HEAD(conn_list, http_conn);
TAILQ_HEAD(peer_list, peer);
SLIST_HEAD(peer_chain, peer);

struct peer {
	struct in6_addr addr;
	uint32_t n;                 /* connections */
	struct conn_list idle;      /* those without a request, freshest first */
	TAILQ_ENTRY(peer) in_class; /* while any is idle */
	SLIST_ENTRY(peer) in_chain;
};

struct peers {
	uint64_t seed;
	size_t n_idle; /* connections */
	struct peer_chain chains[PEERS_HASH];
	struct peer_list classes[PEERS_CLASSES];
};

void peers_init(struct peers *ps);

/* A connection from there (NULL, or not an internet address: all such are one). NULL: out of memory. */
struct peer *peers_join(struct peers *ps, const struct sockaddr_storage *from);
void peers_leave(struct peers *ps, struct peer *p); /* one less; its peer is gone with its last one */

/* c has no request any more and is fresh, or has one. Either may be said twice. */
void peers_idle(struct peers *ps, struct http_conn *c, bool on);

/* The next to give its place up, NULL: none is idle. */
struct http_conn *peers_victim(const struct peers *ps);
