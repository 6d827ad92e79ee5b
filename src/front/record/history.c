/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/history: retention. */
#include "front/record/history.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/account/capacity.h"
#include "front/account/census.h"
#include "front/front.h"
#include "front/record/audit.h"
#include "front/record/logbook.h"
#include "front/record/notebook.h"
#include "front/sandbox/meter.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/snapshots.h"
#include "front/sandbox/table.h"
#include "store/capacity.h"
#include "store/db.h"
#include "store/events.h"
#include "store/meter.h"
#include "store/quotas.h"
#include "store/sandboxes.h"
#include "store/team_points.h"
#include "store/webhooks.h"

#define DAY_MS (24ull * 3600 * 1000)
#define QUOTA_DAYS_KEPT 35
#define AT_ONCE_MS 20

static void told(const char *what, int n, const struct err *e)
{
	if (n < 0)
		log_warn("could not delete expired data, retrying later", "what=%s err=%s", what, e->text);
	else if (n > 0)
		log_debug("deleted expired data", "what=%s n=%d", what, n);
}

/* 0: for ever */
static bool is_over(uint64_t since_ms, uint64_t now_ms, uint32_t kept_s)
{
	return kept_s && now_ms > since_ms && now_ms - since_ms >= kept_s * 1000ull;
}

static void prune_snapshots(struct front *f, uint64_t now_ms)
{
	struct snapshot *sn, *next;

	for (sn = LIST_FIRST(&f->sandbox.snapshots); sn; sn = next) {
		struct err e = ERR_INIT;

		next = LIST_NEXT(sn, link);
		if (!is_over(sn->created_ms, now_ms, f->link.opt.snapshots_kept_s))
			continue;
		log_info("a snapshot has expired, removing it", "snapshot=%s tag=%s", sn->template_id, sn->tag);
		told("snapshots", snapshot_remove(f, sn, &e), &e);
	}
}

static void prune_paused(struct front *f, uint64_t now_ms)
{
	struct sandbox *sb, *next;

	for (sb = sandbox_table_next(f->sandbox.table, NULL); sb; sb = next) {
		next = sandbox_table_next(f->sandbox.table, sb);
		if (sb->state != SANDBOX_PAUSED || !is_over(sb->end_ms, now_ms, f->link.opt.paused_kept_s))
			continue;
		sandbox_by(sb, "");
		sandbox_kill(sb, END_EXPIRED, "paused for too long");
	}
}

/* There may be millions of rows: what is not deleted by until_ms is left for later. */
static bool prune_rows(struct front *f, uint64_t now_ms, uint64_t until_ms)
{
	const struct {
		const char *what;
		int (*prune)(struct store *s, uint64_t before, struct err *e);
		uint64_t before;
	} tables[] = {
		{ "sandboxes", sandboxes_prune, now_ms - f->link.opt.history_kept_s * 1000ull },
		{ "meter", meter_prune, now_ms / DAY_MS - METER_KEPT_DAYS },
		{ "deliveries", deliveries_prune, now_ms - f->link.opt.events_kept_s * 1000ull },
		{ "events", events_prune, now_ms - f->link.opt.events_kept_s * 1000ull },
	};
	bool more = false;

	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		struct err e;
		int n;

		do {
			n = tables[i].prune(f->link.store, tables[i].before, &e);
			told(tables[i].what, n, &e);
		} while (n == STORE_BATCH && clock_mono_ms() < until_ms);
		more = more || n == STORE_BATCH;
	}
	return more;
}

static void prune(struct front *f)
{
	uint64_t now_ms = clock_wall_ms(), until_ms = clock_mono_ms() + AT_ONCE_MS;
	bool more = prune_rows(f, now_ms, until_ms);

	f->record.history_more = logbook_prune(f->record.logbook, until_ms) || more;
}

void history_tick(struct front *f)
{
	if (f->link.ticks % HISTORY_EVERY_S == HISTORY_EVERY_S - 1)
		history_prune(f);
	else if (f->record.history_more)
		prune(f);
}

void history_prune(struct front *f)
{
	uint64_t now_ms = clock_wall_ms();
	struct err e;

	prune_snapshots(f, now_ms);
	prune_paused(f, now_ms);
	prune(f);
	notebook_prune(f);
	audit_prune(f);
	told("capacity", capacity_prune(f->link.store, (now_ms / DAY_MS - CAPACITY_KEPT_DAYS) * 24, &e), &e);
	told("quota_use", quota_use_prune(f->link.store, now_ms / DAY_MS - QUOTA_DAYS_KEPT, &e), &e);
	told("team_points", team_points_prune(f->link.store, now_ms / 1000 - CENSUS_KEPT_S, &e), &e);
}
