/* SPDX-License-Identifier: Apache-2.0 */
/* net_nft: the firewall of an instance, one nftables table "inet atollN".
 *
 * Which interface may send from which addresses follows from the slot numbers, so the whole ruleset is loaded once
 * and a start changes nothing. Only a sandbox without internet is added to a set, and one with a policy gets
 * chains (policy.c). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/inet.h"

struct nft_config {
	uint32_t instance, slots;
	const uint32_t *silent; /* slots of running sandboxes that have no internet */
	size_t n_silent;
	/* ... whose policy is about to be loaded: until then their packets are dropped, not rejected. */
	const uint32_t *waiting;
	size_t n_waiting;
	const struct inet_range *open_ranges;
	size_t n_open_ranges;
	uid_t egress_uid; /* 0: no proxy */
	uint16_t proxy_port;
	uint16_t names_port; /* port of the server's own host names; 0: sandboxes do not reach them */
	uint16_t names_door; /* ... and the port on the gateway address that they lead to */
};

void nft_ruleset(struct buf *out, const struct nft_config *c); /* as text */

/* Replaces the table in one transaction; established connections continue. */
int nft_load(const struct nft_config *c, struct err *e);
void nft_unload(uint32_t instance);

/* Runs commands of the nft language atomically, in a child: the library may crash on tables that other programs
 * have made. */
int nft_run(const char *text, struct err *e);
void nft_put_ip(struct buf *out, uint32_t ip);
void nft_put_range(struct buf *out, struct inet_range r);

/* Opens a netlink socket for the two functions below, one per process, or returns -errno. It stays open, because
 * closing it takes milliseconds. */
int nft_open(void);
/* Removes everything that the table holds for that slot: policy and limits. */
int nft_forget(int fd, uint32_t instance, uint32_t slot, struct err *e);
/* on: no internet for that slot; off: internet again. */
int nft_silence(int fd, uint32_t instance, uint32_t slot, bool on, struct err *e);
