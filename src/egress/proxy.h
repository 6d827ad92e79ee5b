/* SPDX-License-Identifier: Apache-2.0 */
/* proxy: accepts the connections that the firewall diverts from sandboxes with names in their policy.
 *
 * The original destination comes from the kernel (SO_ORIGINAL_DST). The sandbox is identified by the source
 * address, which is pinned to its interface. The host name comes from the first bytes. */
#pragma once

#include <stdint.h>

struct client;
struct clients;
struct loop;
struct proxy;
struct resolver;

#define PROXY_CLIENT_FLOWS_MAX 512 /* concurrent connections of one sandbox */

/* Owns the listening, non-blocking fd. max_flows: of all sandboxes together. NULL: out of memory. */
struct proxy *proxy_new(struct loop *l, int fd, struct clients *cs, struct resolver *rv, unsigned max_flows);

void proxy_recheck(struct proxy *px, struct client *c); /* closes what a new policy no longer allows */
void proxy_cut(struct proxy *px, struct client *c);     /* closes all of its connections */
