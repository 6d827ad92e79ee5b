/* SPDX-License-Identifier: Apache-2.0 */
/* net_nft: the firewall of an instance, one nftables table "inet atollN".
 *
 * Which interface may send from which addresses follows from the slot numbers, so the whole list is loaded once and starting
 * a sandbox changes nothing; only one without internet is added to a set. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* The ruleset as text. silent: slots of running sandboxes that have no internet. */
void nft_ruleset(struct buf *out, uint32_t instance, uint32_t slots, const uint32_t *silent, size_t n_silent);

/* Replaces the table in one transaction: connections go on. */
int nft_load(uint32_t instance, uint32_t slots, const uint32_t *silent, size_t n_silent, struct err *e);
void nft_unload(uint32_t instance);

/* A socket for nft_silence(), one per process. Closing it takes milliseconds, so it is kept. Or -errno. */
int nft_open(void);
int nft_silence(int fd, uint32_t instance, uint32_t slot, bool on, struct err *e);	/* no internet for that slot, or again */
