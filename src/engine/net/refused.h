/* SPDX-License-Identifier: Apache-2.0 */
/* net_refused: to whom the firewall has refused what, of late.
 *
 * The firewall notes address and port of what it refuses to a sandbox in a set of its table, a few of each sandbox in a
 * minute (nft.c); here they are read and taken out. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct engine_refusal;

/* Up to max of them. fd: of nft_open(). Or -errno. */
int net_refused_take(int fd, uint32_t instance, struct engine_refusal *ret, size_t max);
