/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/state: which state may follow which, and what happens at each change. */
#include "front/sandbox/state.h"

#include <assert.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/account/accounts.h"
#include "front/account/census.h"
#include "front/record/logbook.h"
#include "front/sandbox/charge.h"
#include "front/sandbox/facts.h"
#include "front/sandbox/meter.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/table.h"

#define BIT(s) (1u << (s))
#define OVER (BIT(SANDBOX_ENDING) | BIT(SANDBOX_DEAD))
#define IN_TRANSITION (BIT(SANDBOX_STARTING) | BIT(SANDBOX_PAUSING) | BIT(SANDBOX_RESUMING) | BIT(SANDBOX_SAVING))

static const struct {
	const char *name;
	unsigned follow;                   /* allowed next states, wherever the memory is */
	unsigned follow_at[MEMORY_PLACES]; /* additional ones if the memory is there */
} states[SANDBOX_STATES] = {
	[SANDBOX_STARTING] = { "starting", OVER, { [MEMORY_RAM] = BIT(SANDBOX_RUNNING) } },
	[SANDBOX_RUNNING] = { "running", OVER, { [MEMORY_RAM] = BIT(SANDBOX_PAUSING) | BIT(SANDBOX_SAVING) } },
	[SANDBOX_PAUSING] = { "pausing", OVER,
	    { [MEMORY_RAM] = BIT(SANDBOX_PAUSED) | BIT(SANDBOX_RUNNING), [MEMORY_NONE] = BIT(SANDBOX_PAUSED) } },
	[SANDBOX_PAUSED] = { "paused", BIT(SANDBOX_RESUMING) | OVER, { 0 } },
	[SANDBOX_RESUMING] = { "resuming", BIT(SANDBOX_PAUSED) | OVER, { [MEMORY_RAM] = BIT(SANDBOX_RUNNING) } },
	[SANDBOX_SAVING] = { "saving", OVER, { [MEMORY_RAM] = BIT(SANDBOX_RUNNING) } },
	[SANDBOX_ENDING] = { "ending", BIT(SANDBOX_DEAD), { 0 } },
	[SANDBOX_DEAD] = { "dead", 0, { 0 } },
};

bool sandbox_may_follow(enum sandbox_state from, enum memory_place at, enum sandbox_state to)
{
	return (states[from].follow | states[from].follow_at[at]) & BIT(to);
}

/* Wakes only those that waited before the change: a woken one may wait again. */
static void wake_waiters(struct sandbox *sb)
{
	struct sandbox_waiters woken = LIST_HEAD_INITIALIZER(woken);
	struct sandbox_waiter *w;

	while ((w = LIST_FIRST(&sb->waiters))) {
		LIST_REMOVE(w, link);
		LIST_INSERT_HEAD(&woken, w, link); /* reverses the order: first come, first served */
	}
	while ((w = LIST_FIRST(&woken))) {
		LIST_REMOVE(w, link);
		w->fn(w, sb);
	}
}

/* --- the change ---------------------------------------------------------------------------------------------- */

void sandbox_arm_expiry(struct sandbox *sb)
{
	uint64_t now = clock_wall_ms();

	expiry_set(sb->all->expiry, &sb->expiry, clock_mono_ms() + (sb->end_ms > now ? sb->end_ms - now : 0));
}

bool sandbox_counts(enum sandbox_state s)
{
	return BIT(s) & (BIT(SANDBOX_RUNNING) | BIT(SANDBOX_PAUSING) | BIT(SANDBOX_SAVING));
}

static void meter_change(struct sandbox *sb, enum sandbox_state from, enum sandbox_state to)
{
	if (sandbox_counts(from) && !sandbox_counts(to))
		meter_stop(sb);
	if (!sandbox_counts(from) && sandbox_counts(to))
		meter_start(sb);
	if ((from == SANDBOX_RUNNING) != (to == SANDBOX_RUNNING))
		census_running(sb->all->account->census, sb->team, to == SANDBOX_RUNNING ? 1 : -1);
}

static void report_audit(struct sandbox *sb, enum sandbox_state from, enum sandbox_state to)
{
	if (to == SANDBOX_RUNNING && (from == SANDBOX_STARTING || from == SANDBOX_RESUMING))
		sandbox_record_life(sb, from == SANDBOX_STARTING ? "sandbox.started" : "sandbox.resumed");
	if (to == SANDBOX_PAUSED && from == SANDBOX_PAUSING)
		sandbox_record_life(sb, "sandbox.paused");
}

static void report_event(struct sandbox *sb, enum sandbox_state from, enum sandbox_state to)
{
	static const char *const why[END_REASONS] = {
		[END_KILLED] = "request",
		[END_EXPIRED] = "timeout",
		[END_DIED] = "died",
		[END_OOM] = "out_of_memory",
		[END_FAILED] = "failed",
	};

	if ((BIT(to) & OVER) && !(BIT(from) & OVER) && from != SANDBOX_STARTING)
		sandbox_event(sb, EVENT_KILLED, json_pack("{s:s}", "kill_reason", why[sb->end_why]));
	else if (to == SANDBOX_RUNNING && (from == SANDBOX_STARTING || from == SANDBOX_RESUMING))
		sandbox_event(sb, from == SANDBOX_STARTING ? EVENT_CREATED : EVENT_RESUMED, NULL);
	else if (to == SANDBOX_PAUSED && from != SANDBOX_RESUMING)
		sandbox_event(sb, EVENT_PAUSED, NULL);
}

/* Removes it from the table: its id cannot be found any more. */
static void leave_table(struct sandbox *sb, enum sandbox_state from)
{
	if (from != SANDBOX_STARTING) /* no final report follows for a start */
		charge_leaves(sb);
	sandbox_table_drop(sb->all->table, sb);
	sandbox_unref(sb);            /* the reference of the table */
	if (from == SANDBOX_STARTING) /* no client knows its id yet */
		logbook_drop(take_ptr(&sb->log));
	else
		logbook_end(take_ptr(&sb->log), clock_wall_ms());
}

void sandbox_set_state(struct sandbox *sb, enum sandbox_state to)
{
	enum sandbox_state from = sb->state;

	assert(sandbox_may_follow(from, sandbox_memory_place(sb), to));
	log_info("sandbox state", "id=%s from=%s to=%s request=%s", sb->id, states[from].name, states[to].name,
	    sb->request);
	sandbox_ref(sb); /* the callbacks below may drop the last reference */
	sb->state = to;
	meter_change(sb, from, to);
	report_audit(sb, from, to);
	if (to == SANDBOX_RUNNING)
		sandbox_arm_expiry(sb);
	else
		expiry_clear(sb->all->expiry, &sb->expiry);
	if (!(BIT(from) & OVER) && (BIT(to) & OVER))
		leave_table(sb, from);
	report_event(sb, from, to);
	if (to != SANDBOX_RUNNING)
		sandbox_break_links(sb);
	if (!(BIT(to) & IN_TRANSITION))
		wake_waiters(sb);
	sandbox_unref(sb);
}

void sandbox_save_over(struct sandbox *sb)
{
	if (sb->state == SANDBOX_SAVING)
		sandbox_set_state(sb, SANDBOX_RUNNING);
	else if (!(BIT(sb->state) & IN_TRANSITION))
		wake_waiters(sb);
}
