/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/life: a sandbox from its row, from a spec, or from the warm pool; and where its end is decided. */
#include "front/sandbox/life.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "front/account/accounts.h"
#include "front/account/census.h"
#include "front/link/links.h"
#include "front/record/logbook.h"
#include "front/record/records.h"
#include "front/sandbox/end.h"
#include "front/sandbox/facts.h"
#include "front/sandbox/meter.h"
#include "front/sandbox/pause.h"
#include "front/sandbox/row.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/state.h"
#include "front/sandbox/table.h"
#include "front/sandbox/warm_pool.h"
#include "front/util/mem.h"
#include "front/util/time_json.h"
#include "store/sandboxes.h"

#define SAVE_FIRST_MS 200 /* a pause that is due during a snapshot is retried after this */

static struct sandbox *sandbox_alloc(struct sandboxes *all)
{
	struct sandbox *sb = must_alloc(sizeof *sb);

	sb->all = all;
	sb->refs = 1; /* held by the table */
	sb->warm_fd = -1;
	LIST_INIT(&sb->waiters);
	LIST_INIT(&sb->links);
	share_init(&sb->share, all->link->loop);
	usage_init(&sb->usage, clock_mono_ms());
	return sb;
}

int sandbox_new(struct sandboxes *all, const char *team, const char *key, struct spec *sp,
    const struct warm_pool_gift *warm, struct sandbox **ret, struct err *e)
{
	struct sandbox *sb = sandbox_alloc(all);

	if (warm)
		memcpy(sb->id, warm->id, sizeof sb->id);
	else
		sandbox_table_make_id(all->table, sb->id);
	box_init(&sb->box, all->link, sb->id);
	if (warm) {
		box_adopt(&sb->box, false);
		sb->warm_fd = warm->fd;
		sb->usage.last_cpu_ns = sb->paid.cpu_ns = warm->cpu_ns;
	}
	(void)str_copy(sb->team, sizeof sb->team, str_of(team));
	(void)str_copy(sb->key, sizeof sb->key, str_of(key));
	sb->paid.known = true;
	sb->spec = *sp;
	*sp = (struct spec) { 0 };
	if (sb->spec.flags & SPEC_SECURE)
		token_make(sb->envd_token);
	if (sb->spec.flags & SPEC_PRIVATE_TRAFFIC)
		token_make(sb->traffic_token);
	sb->events.known = true; /* a new sandbox has no events yet */
	sb->created_ms = clock_wall_ms();
	sb->started_us = sb->created_ms * 1000;
	sb->active_ms = sb->noted_active_ms = sb->created_ms;
	sb->end_ms = sb->created_ms + sb->spec.timeout_s * 1000ull;
	if (!warm && row_add(sb, ROW_STARTING, e) < 0) {
		sandbox_unref(sb);
		return err_wrap(e, "record the sandbox");
	}
	sandbox_table_put(all->table, sb);
	*ret = sb;
	return 0;
}

struct sandbox *sandbox_restore(struct sandboxes *all, const struct sandbox_row *row, bool live, bool frozen)
{
	struct sandbox *sb = sandbox_alloc(all);
	/* The previous front died before it could record a freeze or a thaw. */
	bool is_caught = frozen && row->state == ROW_RUNNING, is_freed = !frozen && row->state == ROW_PAUSED;

	if (row_load(sb, row) < 0) {
		sandbox_unref(sb);
		return NULL;
	}
	box_init(&sb->box, all->link, sb->id);
	if (live)
		box_adopt(&sb->box, frozen);
	if (row->state == ROW_PAUSED)
		sb->stopped_ms = row->end_ms;
	if (!frozen) /* it has run since, so the saved state is outdated */
		memset(&sb->saved, 0, sizeof sb->saved);
	sb->state = is_caught ? SANDBOX_PAUSING : frozen ? SANDBOX_PAUSED : SANDBOX_RUNNING;
	if (is_freed) {
		sb->end_ms = clock_wall_ms() + sb->spec.timeout_s * 1000ull;
		row_save(sb);
	}
	sandbox_table_put(all->table, sb);
	sb->log = logbook_open(all->record->logbook, sb->id, sb->team, false);
	meter_load(sb);
	if (is_freed) /* it was thawed a moment ago: the time paused does not count */
		meter_start(sb);
	else if (sandbox_counts(sb->state))
		meter_adopt(sb);
	if (is_caught)
		sandbox_run_on(sb);
	else if (live && (sb->saved.what & SAVED_NO_RAM)) /* the previous front did not get to kill it */
		sandbox_reclaim(sb);
	if (!frozen) {
		census_running(all->account->census, sb->team, 1);
		sandbox_arm_expiry(sb);
	}
	return sb;
}

void sandbox_set_timeout(struct sandbox *sb, uint32_t timeout_s, bool extend_only)
{
	uint64_t end = sandbox_latest_end(sb, clock_wall_ms() + timeout_s * 1000ull);

	assert(sb->state == SANDBOX_RUNNING);
	if (extend_only && end <= sb->end_ms)
		return;
	sb->end_ms = end;
	row_set(sb, ROW_RUNNING);
	sandbox_arm_expiry(sb);
	sandbox_event(sb, EVENT_UPDATED, json_pack("{s:o}", "set_timeout", time_json(end)));
	sandbox_note(sb, LOG_LVL_INFO, JOURNAL_LIFECYCLE, "timeout set", "timeout_s=%u request=%s", timeout_s,
	    sb->request);
}

void sandbox_box_exited(struct sandbox *sb, enum end_reason why, const char *reason)
{
	enum box_state was = sb->box.state;

	if (sandbox_is_warm(sb)) {
		/* The connection breaks as well, or its answer was sent before: then another sandbox is started. */
		sb->warm_died = true;
		return;
	}
	/* The exit of the previous run: the warden answers a start before it reports the end of what it started. */
	if (sb->state == SANDBOX_RESUMING && was == BOX_STARTING)
		return;
	sandbox_ref(sb);
	sb->ruling = NULL;
	box_exited(&sb->box); /* completes the step in flight, which cleans up */
	if (!sandbox_outlives(sb, was))
		sandbox_exited(sb, why, reason);
	sandbox_unref(sb);
}

void sandbox_forget(struct sandbox *sb)
{
	row_note_active(sb);
	meter_stop(sb);
	expiry_clear(sb->all->expiry, &sb->expiry);
	sandbox_table_drop(sb->all->table, sb);
	sandbox_break_links(sb);
	sandbox_unref(sb);
}

void sandbox_expired(struct expiry_entry *en)
{
	struct sandbox *sb = container_of(en, struct sandbox, expiry);

	sandbox_by(sb, "");
	if ((sb->spec.flags & SPEC_AUTO_PAUSE) && sandbox_being_saved(sb))
		expiry_set(sb->all->expiry, en, clock_mono_ms() + SAVE_FIRST_MS);
	else if (sb->spec.flags & SPEC_AUTO_PAUSE)
		sandbox_pause(sb, !(sb->spec.flags & SPEC_PAUSE_DISK));
	else
		sandbox_kill(sb, END_EXPIRED, "expired");
}
