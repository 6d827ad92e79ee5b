/* SPDX-License-Identifier: Apache-2.0 */
/* http/peers: the connections of a server by address, and which of them is closed when all places are taken.
 * Internal to http/.
 *
 * Connections are grouped by IPv4 address or IPv6 /64, which is what one machine has. When room is needed, the
 * address with the most connections loses the one that has been idle for longest.
 *
 * The cost does not depend on the number of connections, so a flood costs no more per connection: addresses are
 * kept in classes of similar size (1, 2–3, 4–7, ... connections), and within a class in the order in which one of
 * their connections last became idle. With one connection per address this is exactly the order of age. */
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
	struct conn_list idle;      /* connections without a request, most recent first */
	TAILQ_ENTRY(peer) in_class; /* while any connection is idle */
	SLIST_ENTRY(peer) in_chain;
};

struct peers {
	uint64_t seed;
	size_t n_idle; /* connections */
	struct peer_chain chains[PEERS_HASH];
	struct peer_list classes[PEERS_CLASSES];
};

void peers_init(struct peers *ps);

/* Adds a connection from an address (all that are NULL or not internet addresses share one peer). NULL: out of
 * memory. */
struct peer *peers_join(struct peers *ps, const struct sockaddr_storage *from);
void peers_leave(struct peers *ps, struct peer *p); /* removes a connection; the peer is freed with its last one */

/* c has become idle, and is the most recent one, or has a request. Either call may be repeated. */
void peers_idle(struct peers *ps, struct http_conn *c, bool on);

/* The next connection to close, NULL: none is idle. */
struct http_conn *peers_victim(const struct peers *ps);
