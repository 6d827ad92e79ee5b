/* SPDX-License-Identifier: Apache-2.0 */
/* nft_wire: changes of the firewall as messages to the kernel.
 *
 * By hand and not through the library of nftables, which would read all tables of the host first: this runs in the
 * warden's loop, and whatever others have in their tables, ours must go when a sandbox or the server does. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define NFT_TABLE_SIZE 24

struct nlmsghdr;

const char *nft_table(char buf[NFT_TABLE_SIZE], uint32_t instance);
/* the beginning of a message, for attributes to follow */
struct nlmsghdr *nft_head(void *at, uint16_t type, uint16_t flags);

/* One change, which put() writes as one message of at most 4 KiB. 0 or -errno. */
typedef void nft_put(void *at, const void *what);
int nft_change(int fd, nft_put *put, const void *what);

/* Takes all answers that are there, so that none is taken for that of the next question. */
void nft_drain(int fd);
