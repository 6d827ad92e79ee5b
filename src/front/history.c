/* SPDX-License-Identifier: Apache-2.0 */
/* front/history: forgetting. */
#include "front/history.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "front/census.h"
#include "front/front.h"
#include "front/logbook.h"
#include "front/meter.h"
#include "store/meter.h"
#include "store/quotas.h"
#include "store/sandboxes.h"
#include "store/team_points.h"

#define DAY_MS (24ull * 3600 * 1000)
#define QUOTA_DAYS_KEPT 35
#define SANDBOXES_KEPT_MS (7 * DAY_MS)	/* after their end */

static void told(const char *what, int n, const struct err *e)
{
	if (n < 0)
		log_warn("could not forget what is old, trying again later", "what=%s err=%s", what, e->text);
	else if (n > 0)
		log_debug("forgot what is old", "what=%s n=%d", what, n);
}

void history_prune(struct front *f)
{
	uint64_t now_ms = clock_wall_ms();
	struct err e;

	told("sandboxes", sandboxes_prune(f->store, now_ms - SANDBOXES_KEPT_MS, &e), &e);
	logbook_prune(f->logbook);
	told("meter", meter_prune(f->store, now_ms / DAY_MS - METER_KEPT_DAYS, &e), &e);
	told("quota_use", quota_use_prune(f->store, now_ms / DAY_MS - QUOTA_DAYS_KEPT, &e), &e);
	told("team_points", team_points_prune(f->store, now_ms / 1000 - CENSUS_KEPT_S, &e), &e);
}
