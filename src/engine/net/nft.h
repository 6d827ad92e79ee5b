/* SPDX-License-Identifier: Apache-2.0 */
/* net_nft: the firewall of an instance, one nftables table "inet atollN".
 *
 * Which interface may send from which addresses follows from the slot numbers, so the whole list is loaded once and
 * starting a sandbox changes nothing; only one without internet is added to a set, and one with a policy gets chains
 * (policy.c). */
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
	/* ... whose policy will come in a moment: until then their packets are lost, not refused */
	const uint32_t *waiting;
	size_t n_waiting;
	const struct inet_range *open_ranges;
	size_t n_open_ranges;
	uid_t egress_uid; /* 0: no proxy */
	uint16_t proxy_port;
	uint16_t names_port; /* of the server's own host names; 0: sandboxes do not reach them */
	uint16_t names_door; /* ... and where on the gateway address they lead to */
};

void nft_ruleset(struct buf *out, const struct nft_config *c); /* as text */

/* Replaces the table in one transaction: connections go on. */
int nft_load(const struct nft_config *c, struct err *e);
void nft_unload(uint32_t instance);

/* Runs commands of the nft language, all or none, in a child: the library may die of tables that others have made. */
int nft_run(const char *text, struct err *e);
void nft_put_ip(struct buf *out, uint32_t ip);
void nft_put_range(struct buf *out, struct inet_range r);

/* A socket for the two below, one per process. Closing it takes milliseconds, so it is kept. Or -errno. */
int nft_open(void);
/* all that is there for that slot, its policy and limits */
int nft_forget(int fd, uint32_t instance, uint32_t slot, struct err *e);
/* no internet for that slot, or again */
int nft_silence(int fd, uint32_t instance, uint32_t slot, bool on, struct err *e);
