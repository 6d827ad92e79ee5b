/* SPDX-License-Identifier: Apache-2.0 */
/* net_link: interfaces, addresses and routes, by rtnetlink. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct slot;

/* The mtu of the interface that the default route leaves by; 1500 without one. */
uint32_t link_default_mtu(void);

int link_gateway_add(uint32_t ip, struct err *e); /* adds ip/32 to lo; succeeds if it exists */
void link_gateway_del(uint32_t ip);

/* Makes the veth pair: the host's end is up, with its route and neighbour entry and without IPv6; the other end is
 * eth0 in netns_fd, still down. Deletes what the connection table has of the slot's previous sandbox. */
int link_make(const struct slot *s, int netns_fd, uint32_t mtu, struct err *e);

/* Called in the sandbox's network namespace: brings lo and eth0 up, sets the address and the default route. */
int link_inside(const struct slot *s, struct err *e);

/* Also called there: sets that network's sysctls. first, count: the range of group ids that may open ping sockets. */
int link_sysctls(uint32_t first, uint32_t count, struct err *e);
