/* SPDX-License-Identifier: Apache-2.0 */
#include "init/process/pace.h"

bool pace_take(struct pace *p, uint64_t now_us)
{
	int64_t back_us = now_us > p->at_us ? (int64_t)(now_us - p->at_us) : 0; /* a restored clock may be behind */

	p->used_us = back_us < p->used_us ? p->used_us - back_us : 0;
	p->at_us = now_us;
	if (p->used_us + PACE_READ_US > PACE_BURST_US)
		return false;
	p->used_us += PACE_READ_US;
	return true;
}

void pace_done(struct pace *p, uint64_t now_us)
{
	int64_t took_us = now_us > p->at_us ? (int64_t)(now_us - p->at_us) : 0;
	int64_t cost_us = took_us + took_us / 4;

	if (cost_us > PACE_READ_MOST_US)
		cost_us = PACE_READ_MOST_US;
	if (cost_us > PACE_READ_US) /* which pace_take() has charged */
		p->used_us += cost_us - PACE_READ_US;
}
