/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/demand: a window of seconds and a level that follows its peaks. */
#include "front/util/demand.h"

#include <string.h>

#define KEPT 0.9        /* factor from one second to the next */
#define FORGOTTEN_S 120 /* the level is 0 after this time */

static double in_window(const struct demand *d)
{
	double sum = 0;

	for (int i = 0; i < DEMAND_WINDOW_S; i++)
		sum += d->n[i];
	return sum;
}

static void advance(struct demand *d, uint64_t now_ms)
{
	uint64_t now = now_ms / 1000;

	if (now > d->second + FORGOTTEN_S) {
		memset(d, 0, sizeof *d);
		d->second = now;
	}
	for (; d->second < now; d->second++) {
		double sum = in_window(d);

		d->level = sum > d->level * KEPT ? sum : d->level * KEPT;
		d->n[(d->second + 1) % DEMAND_WINDOW_S] = 0;
	}
}

void demand_note(struct demand *d, uint64_t now_ms)
{
	advance(d, now_ms);
	d->n[d->second % DEMAND_WINDOW_S]++;
}

uint32_t demand_level(struct demand *d, uint64_t now_ms)
{
	advance(d, now_ms);

	double sum = in_window(d);

	return (uint32_t)((sum > d->level ? sum : d->level) + 0.5);
}
