/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/demand: a backlog that drains at the rate of refills, and its peaks by hour. */
#include "front/util/demand.h"

#include <string.h>

#define BACKLOG_MAX 1e6 /* far above any pool; keeps the arithmetic exact */

/* The entries of the hours that have begun since are empty. */
static void advance(struct demand *d, uint64_t now_ms)
{
	uint64_t now = now_ms / DEMAND_HOUR_MS;

	if (now >= d->hour + DEMAND_HOURS) {
		memset(d->peak, 0, sizeof d->peak);
		d->hour = now;
	}
	while (d->hour < now) {
		d->hour++;
		d->peak[d->hour % DEMAND_HOURS] = 0;
	}
}

void demand_note(struct demand *d, uint64_t now_ms, double per_s)
{
	uint64_t passed_ms = now_ms > d->at_ms ? now_ms - d->at_ms : 0;
	double refilled = (double)passed_ms / 1000 * per_s;

	advance(d, now_ms);
	d->backlog = d->backlog > refilled ? d->backlog - refilled : 0;
	if (d->backlog < BACKLOG_MAX)
		d->backlog += 1;
	d->at_ms = now_ms;
	uint32_t *peak = &d->peak[d->hour % DEMAND_HOURS], n = (uint32_t)(d->backlog + 0.5);

	if (n > *peak)
		*peak = n;
}

uint32_t demand_level(struct demand *d, uint64_t now_ms)
{
	uint32_t level = 0;

	advance(d, now_ms);
	for (uint64_t age = 0; age < DEMAND_HOURS && age <= d->hour; age++) {
		uint64_t old = age < DEMAND_FULL_HOURS ? 0 : (age - DEMAND_FULL_HOURS) / DEMAND_HALF_HOURS + 1;
		uint32_t n = d->peak[(d->hour - age) % DEMAND_HOURS] >> old;

		if (n > level)
			level = n;
	}
	return level;
}
