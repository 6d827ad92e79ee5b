/* SPDX-License-Identifier: Apache-2.0 */
/* serve: the resolver's interface to the sandboxes: queries over UDP and TCP, and those answered without
 * forwarding. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct clients;
struct forwarder;
struct loop;
struct server_udp;
struct server_tcp;
struct dns_query;

#define SERVE_CONNS_MAX 512
#define SERVE_CLIENT_CONNS_MAX 16
#define SERVE_CONN_QUERIES_MAX 64
#define SERVE_IDLE_MS 15000

/* Both own their bound, non-blocking socket. NULL: out of memory. */
struct server_udp *server_udp_new(struct loop *l, int fd, struct forwarder *fw, const struct clients *cs);
struct server_tcp *server_tcp_new(struct loop *l, int fd, struct forwarder *fw, const struct clients *cs);

#define SERVE_NAMES_TTL_S 60

/* Sets the address that sandboxes get for the domain of this server and for names below it. "": none. */
void serve_names(const char *domain, uint32_t ip);

#define SERVE_FORWARD (-1)
#define SERVE_NAMES (-2) /* answered with the address of serve_names() */
uint32_t serve_names_ip(void);

/* The rcode for a query that is answered here without records, or one of the above. from: the client's address. */
int serve_policy(const struct clients *cs, uint32_t from, const struct dns_query *q);
