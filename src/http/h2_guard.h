/* SPDX-License-Identifier: Apache-2.0 */
/* http/h2_guard: an account of what a client costs without bringing anything: a bucket that fills with time. No I/O.
 *
 * Frames that every client sends now and then (settings, pings, resets) are cheap and only a flood of them empties the
 * bucket. Resetting a request right after making it is dear: that way a client makes the server work as fast as it can
 * write, never having more than a few requests open ("rapid reset", CVE-2023-44487). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define H2_PURSE 5000 /* what can be saved up */
#define H2_INCOME 500 /* per second */

enum h2_cost {
	H2_COST_CONTROL = 2,      /* ping, priority, window update, unknown frames, parts of a head */
	H2_COST_SETTINGS = 20,    /* may change all windows */
	H2_COST_EMPTY = 5,        /* data without data */
	H2_COST_RESET = 2,        /* of a request that has had its chance */
	H2_COST_EARLY_RESET = 12, /* of one that has not */
	H2_COST_WRONG = 20,       /* against the protocol, or one request too many */
};

struct h2_guard {
	uint32_t purse;
	uint64_t at_ms;
};

void h2_guard_init(struct h2_guard *g, uint64_t now_ms);
bool h2_guard_pay(struct h2_guard *g, uint64_t now_ms, uint32_t cost); /* false: it cannot */
/* for taking data, which takes window updates */
void h2_guard_earn(struct h2_guard *g, uint32_t n);
