/* SPDX-License-Identifier: Apache-2.0 */
/* http/h2_guard: a token bucket for what a client costs without making progress. No I/O.
 *
 * Frames that every client sends occasionally (settings, pings, resets) are cheap, and only a flood of them
 * empties the bucket. Resetting a request right after it was sent is expensive: with it a client keeps the server
 * busy as fast as it can write, with only a few requests open at any time ("rapid reset", CVE-2023-44487). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define H2_PURSE 5000 /* capacity of the bucket */
#define H2_INCOME 500 /* per second */

enum h2_cost {
	H2_COST_CONTROL = 2,      /* ping, priority, window update, unknown frames, parts of a head */
	H2_COST_SETTINGS = 20,    /* may change all windows */
	H2_COST_EMPTY = 5,        /* an empty DATA frame */
	H2_COST_RESET = 2,        /* of a request that had time to run */
	H2_COST_EARLY_RESET = 12, /* of one that had not */
	H2_COST_WRONG = 20,       /* protocol violation, or too many requests */
};

struct h2_guard {
	uint32_t purse;
	uint64_t at_ms;
};

void h2_guard_init(struct h2_guard *g, uint64_t now_ms);
bool h2_guard_pay(struct h2_guard *g, uint64_t now_ms, uint32_t cost); /* false: not enough tokens */
/* Adds tokens when data is sent, because the peer answers with window updates. */
void h2_guard_earn(struct h2_guard *g, uint32_t n);
