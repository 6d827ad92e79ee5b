/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/demand: how many sandboxes should be ready, learnt from earlier requests. Pure.
 *
 * A pool that is refilled at a certain rate serves a stream of requests without a miss if it holds the largest
 * backlog: each request adds one to it, and time takes away what would have been refilled. Fifty requests at once
 * need fifty, fifty requests in ten seconds perhaps one.
 *
 * The largest backlog of each hour counts fully for DEMAND_FULL_HOURS, so that the next burst after a quiet hour finds
 * as many. Then it counts half as much every DEMAND_HALF_HOURS. */
#pragma once

#include <stdint.h>

#define DEMAND_HOURS 12
#define DEMAND_FULL_HOURS 3
#define DEMAND_HALF_HOURS 2
#define DEMAND_HOUR_MS 3600000u

struct demand {
	double backlog;
	uint64_t at_ms;              /* time of the last request */
	uint64_t hour;               /* the hour of the newest entry in peak[] */
	uint32_t peak[DEMAND_HOURS]; /* the largest backlog of each hour, indexed by hour modulo DEMAND_HOURS */
};

/* Counts one request. per_s: how many members can be made in a second. */
void demand_note(struct demand *d, uint64_t now_ms, double per_s);

uint32_t demand_level(struct demand *d, uint64_t now_ms); /* how many members should be there */
