/* SPDX-License-Identifier: Apache-2.0 */
/* proxy: takes the connections that the firewall diverts from sandboxes with names in their policy.
 *
 * Where a connection was going is known from the kernel (SO_ORIGINAL_DST), whose it is from its source address, which
 * is pinned to the sandbox's interface, and what host it is for from its first bytes. */
#pragma once

#include <stdint.h>

struct client;
struct clients;
struct loop;
struct proxy;
struct resolver;

#define PROXY_CLIENT_FLOWS_MAX 512 /* connections of one sandbox at once */

/* Owns the listening, non-blocking fd. max_flows: of all together. NULL: no memory. */
struct proxy *proxy_new(struct loop *l, int fd, struct clients *cs, struct resolver *rv, unsigned max_flows);

void proxy_recheck(struct proxy *px, struct client *c); /* its policy is a new one: cuts what is not allowed any more */
void proxy_cut(struct proxy *px, struct client *c);     /* all of its connections */
