/* SPDX-License-Identifier: Apache-2.0 */
/* net_link: interfaces, addresses and routes, by rtnetlink. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct slot;

/* The mtu of the interface that the default route leaves by; 1500 without one. */
uint32_t link_default_mtu(void);

int link_gateway_add(uint32_t ip, struct err *e); /* ip/32 on lo: there when it was there already */
void link_gateway_del(uint32_t ip);

/* The pair: the host's end up, with its route and neighbour, without IPv6; the other end is eth0 in netns_fd, still
 * down. */
int link_make(const struct slot *s, int netns_fd, uint32_t mtu, struct err *e);

/* In the sandbox's network namespace: lo and eth0 up, address, default route. */
int link_inside(const struct slot *s, struct err *e);

/* Likewise: settings of that network. Its groups are count of ours from first on. */
int link_sysctls(uint32_t first, uint32_t count, struct err *e);
