/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/history: retention of records. */
#include "front/record/history.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/account/capacity.h"
#include "front/account/census.h"
#include "front/link/links.h"
#include "front/record/audit.h"
#include "front/record/logbook.h"
#include "front/record/notebook.h"
#include "front/record/records.h"
#include "store/capacity.h"
#include "store/db.h"
#include "store/events.h"
#include "store/meter.h"
#include "store/quotas.h"
#include "store/sandboxes.h"
#include "store/team_points.h"
#include "store/webhooks.h"

#define DAY_MS (24ull * 3600 * 1000)
#define METER_KEPT_DAYS 400
#define QUOTA_DAYS_KEPT 35
#define AT_ONCE_MS 20
#define HISTORY_EVERY_S 10

static void told(const char *what, int n, const struct err *e)
{
	if (n < 0)
		log_warn("could not delete expired data, retrying later", "what=%s err=%s", what, e->text);
	else if (n > 0)
		log_debug("deleted expired data", "what=%s n=%d", what, n);
}

/* There may be millions of rows: what is not deleted by until_ms is left for later. */
static bool prune_rows(struct records *rs, uint64_t now_ms, uint64_t until_ms)
{
	const struct {
		const char *what;
		int (*prune)(struct store *s, uint64_t before, struct err *e);
		uint64_t before;
	} tables[] = {
		{ "sandboxes", sandboxes_prune, now_ms - rs->link->opt.history_kept_s * 1000ull },
		{ "meter", meter_prune, now_ms / DAY_MS - METER_KEPT_DAYS },
		{ "deliveries", deliveries_prune, now_ms - rs->link->opt.events_kept_s * 1000ull },
		{ "events", events_prune, now_ms - rs->link->opt.events_kept_s * 1000ull },
	};
	bool more = false;

	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		struct err e;
		int n;

		do {
			n = tables[i].prune(rs->link->store, tables[i].before, &e);
			told(tables[i].what, n, &e);
		} while (n == STORE_BATCH && clock_mono_ms() < until_ms);
		more = more || n == STORE_BATCH;
	}
	return more;
}

static void prune(struct records *rs)
{
	uint64_t now_ms = clock_wall_ms(), until_ms = clock_mono_ms() + AT_ONCE_MS;
	bool more = prune_rows(rs, now_ms, until_ms);

	rs->history_more = logbook_prune(rs->logbook, until_ms) || more;
}

bool history_due(const struct records *rs)
{
	return rs->link->ticks % HISTORY_EVERY_S == HISTORY_EVERY_S - 1;
}

void history_tick(struct records *rs)
{
	if (history_due(rs))
		history_prune(rs);
	else if (rs->history_more)
		prune(rs);
}

void history_prune(struct records *rs)
{
	uint64_t now_ms = clock_wall_ms();
	struct err e;

	prune(rs);
	notebook_prune(rs);
	audit_prune(rs);
	told("capacity", capacity_prune(rs->link->store, (now_ms / DAY_MS - CAPACITY_KEPT_DAYS) * 24, &e), &e);
	told("quota_use", quota_use_prune(rs->link->store, now_ms / DAY_MS - QUOTA_DAYS_KEPT, &e), &e);
	told("team_points", team_points_prune(rs->link->store, now_ms / 1000 - CENSUS_KEPT_S, &e), &e);
}
