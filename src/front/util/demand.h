/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/demand: how many sandboxes have been asked for lately: it rises at once and falls slowly. Pure. */
#pragma once

#include <stdint.h>

#define DEMAND_WINDOW_S 5

struct demand {
	uint64_t second;             /* the newest of n[] */
	uint32_t n[DEMAND_WINDOW_S]; /* asked for in that second, by second modulo the window */
	double level;
};

void demand_note(struct demand *d, uint64_t now_ms); /* one more was asked for */

/* As many as in the last seconds, or what is left of an earlier rush, a tenth less with each second. */
uint32_t demand_level(struct demand *d, uint64_t now_ms);
