/* SPDX-License-Identifier: Apache-2.0 */
/* net_refused: packets that the firewall has recently refused.
 *
 * The firewall records address and port of what it refuses to a sandbox in a set of its table, a few per sandbox
 * and minute (nft.c). This code reads the set and removes the entries. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct engine_refusal;

/* Returns the number of entries taken, up to max, or -errno. fd: of nft_open(). */
int net_refused_take(int fd, uint32_t instance, struct engine_refusal *ret, size_t max);
