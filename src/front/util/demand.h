/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/demand: estimates the recent demand for sandboxes: rises at once and falls slowly. Pure. */
#pragma once

#include <stdint.h>

#define DEMAND_WINDOW_S 5

struct demand {
	uint64_t second;             /* the second of the newest entry in n[] */
	uint32_t n[DEMAND_WINDOW_S]; /* requests in each second, indexed by second modulo the window */
	double level;
};

void demand_note(struct demand *d, uint64_t now_ms); /* counts one request */

/* Returns the number of requests in the window, or the level of an earlier burst, which decays by a tenth each
 * second, if that is higher. */
uint32_t demand_level(struct demand *d, uint64_t now_ms);
