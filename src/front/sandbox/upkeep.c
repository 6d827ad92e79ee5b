/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/upkeep: pauses sandboxes over quota, removes paused ones from memory, and ends those that are too old.
 */
#include "front/sandbox/upkeep.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "front/account/quota.h"
#include "front/link/links.h"
#include "front/sandbox/end.h"
#include "front/sandbox/pause.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/snapshots.h"
#include "front/sandbox/table.h"
#include "front/util/memory.h"

/* --- quotas ----------------------------------------------------------------------------------------------------- */

#define LOOK_EVERY 2 /* seconds */

/* Pauses the sandboxes whose team or key has used up a daily quota. */
static void hold_up(struct sandboxes *all)
{
	struct sandbox *sb, *next;
	struct quota_hit h;

	for (sb = sandbox_table_next(all->table, NULL); sb; sb = next) {
		next = sandbox_table_next(all->table, sb);
		if (sb->state != SANDBOX_RUNNING || sandbox_being_saved(sb) ||
		    quota_check_resume(all->account, sb->team, sb->key, &h) == 0)
			continue;
		log_info("pausing a sandbox: a quota is exhausted", "id=%s scope=%s what=%s limit=%lld", sb->id,
		    h.scope, h.what, (long long)h.limit);
		sandbox_by(sb, "");
		sandbox_note(sb, LOG_LVL_WARN, JOURNAL_LIFECYCLE, "paused, a quota is used up",
		    "error=QUOTA scope=%s what=%s limit=%lld", h.scope, h.what, (long long)h.limit);
		sandbox_pause(sb, true);
	}
}

void over_quota_tick(struct sandboxes *all)
{
	if (all->link->ticks % LOOK_EVERY == 0 && quota_any_daily(all->account))
		hold_up(all);
}

/* --- memory ----------------------------------------------------------------------------------------------------- */

#define KEPT_PART 8 /* 1/8 of the memory stays free */

/* Compares with the limit for all sandboxes together. */
static bool share_is_short(const struct sandboxes *all)
{
	uint64_t total = all->link->opt.mem_total_mb * 1024ull * 1024;

	return total && all->memory.used_bytes > total - total / KEPT_PART;
}

void sandbox_reclaim_memory(struct sandboxes *all)
{
	struct sandbox *best = NULL;

	for (struct sandbox *sb = sandbox_table_next(all->table, NULL); sb; sb = sandbox_table_next(all->table, sb)) {
		if (sb->state == SANDBOX_PAUSED && sb->box.state == BOX_KILLING)
			return;
		if (sb->state == SANDBOX_PAUSED && sb->box.state == BOX_FROZEN && (sb->saved.what & SAVED_MEMORY) &&
		    !(sb->saved.what & SAVED_NO_RAM) && (!best || sandbox_memory(sb) > sandbox_memory(best)))
			best = sb;
	}
	if (!best)
		return;
	sandbox_by(best, "");
	sandbox_note(best, LOG_LVL_INFO, JOURNAL_LIFECYCLE, "paused sandbox left the memory, it is on disk",
	    "bytes=%llu", (unsigned long long)sandbox_memory(best));
	sandbox_reclaim(best);
}

void memory_tick(struct sandboxes *all)
{
	bool is_short = memory_host_is_short(&all->memory) || share_is_short(all);

	if (is_short != all->memory.is_short)
		log_info(is_short ? "memory is short" : "memory is not short any more", "sandboxes=%zu",
		    sandbox_table_count(all->table));
	all->memory.is_short = is_short;
	if (is_short)
		sandbox_reclaim_memory(all);
}

/* --- age -------------------------------------------------------------------------------------------------------- */

/* 0: for ever */
static bool is_over(uint64_t since_ms, uint64_t now_ms, uint32_t kept_s)
{
	return kept_s && now_ms > since_ms && now_ms - since_ms >= kept_s * 1000ull;
}

static void prune_snapshots(struct sandboxes *all, uint64_t now_ms)
{
	struct snapshot *sn, *next;

	for (sn = LIST_FIRST(&all->snapshots); sn; sn = next) {
		struct err e = ERR_INIT;

		next = LIST_NEXT(sn, link);
		if (!is_over(sn->created_ms, now_ms, all->link->opt.snapshots_kept_s))
			continue;
		log_info("a snapshot has expired, removing it", "snapshot=%s tag=%s", sn->template_id, sn->tag);
		if (snapshot_remove(all, sn, &e) < 0)
			log_warn("could not delete expired data, retrying later", "what=snapshots err=%s", e.text);
	}
}

static void prune_paused(struct sandboxes *all, uint64_t now_ms)
{
	struct sandbox *sb, *next;

	for (sb = sandbox_table_next(all->table, NULL); sb; sb = next) {
		next = sandbox_table_next(all->table, sb);
		if (sb->state != SANDBOX_PAUSED || !is_over(sb->end_ms, now_ms, all->link->opt.paused_kept_s))
			continue;
		sandbox_by(sb, "");
		sandbox_kill(sb, END_EXPIRED, "paused for too long");
	}
}

void retention_prune(struct sandboxes *all)
{
	uint64_t now_ms = clock_wall_ms();

	prune_snapshots(all, now_ms);
	prune_paused(all, now_ms);
}
