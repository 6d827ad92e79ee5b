/* SPDX-License-Identifier: Apache-2.0 */
/* nft_wire: firewall changes as netlink messages.
 *
 * They are encoded here and not by the nftables library, which would read all tables of the host first. This code
 * runs in the warden's loop, and it must be able to remove our entries whatever other programs have in their
 * tables. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define NFT_TABLE_SIZE 24

struct nlmsghdr;

const char *nft_table(char buf[NFT_TABLE_SIZE], uint32_t instance);
/* Writes the header of a message; attributes follow. */
struct nlmsghdr *nft_head(void *at, uint16_t type, uint16_t flags);

/* Makes one change, which put() writes as one message of at most 4 KiB. Returns 0 or -errno. */
typedef void nft_put(void *at, const void *what);
int nft_change(int fd, nft_put *put, const void *what);

/* Reads all queued replies, so that none is taken for the reply to the next request. */
void nft_drain(int fd);
