/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/state: which state may follow which, and what happens at each change. */
#include <assert.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/account/census.h"
#include "front/front.h"
#include "front/record/audit_acts.h"
#include "front/record/events.h"
#include "front/record/logbook.h"
#include "front/sandbox/charge.h"
#include "front/sandbox/impl.h"
#include "front/sandbox/meter.h"
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

const char *sandbox_state_name(const struct sandbox *sb)
{
	return BIT(sb->state) & (BIT(SANDBOX_PAUSING) | BIT(SANDBOX_PAUSED)) ? "paused" : "running";
}

/* --- where the memory is, and what else follows from the box -------------------------------------------------- */

enum memory_place sandbox_memory_place(const struct sandbox *sb)
{
	/* the memory of a box that is being killed cannot be used again */
	const unsigned holds_memory = BIT(BOX_READY) | BIT(BOX_QUIETING) | BIT(BOX_FREEZING) | BIT(BOX_FROZEN) |
	    BIT(BOX_SNAPSHOTTING) | BIT(BOX_CHECKPOINTING) | BIT(BOX_RELEASED) | BIT(BOX_THAWING);
	bool ram = holds_memory & BIT(sb->box.state), disk = sb->saved.what & SAVED_MEMORY;

	if (sb->saved.what & SAVED_NO_RAM)
		return MEMORY_NONE;
	return ram && disk ? MEMORY_BOTH : ram ? MEMORY_RAM : disk ? MEMORY_DISK : MEMORY_LOST;
}

const char *sandbox_memory_name(const struct sandbox *sb)
{
	static const char *const names[MEMORY_PLACES] = {
		[MEMORY_RAM] = "ram",
		[MEMORY_BOTH] = "ram+disk",
		[MEMORY_DISK] = "disk",
		[MEMORY_NONE] = "none",
		[MEMORY_LOST] = "lost",
	};

	return names[sandbox_memory_place(sb)];
}

bool sandbox_live(const struct sandbox *sb)
{
	return box_present(&sb->box) && !(sb->state == SANDBOX_RESUMING && sb->box.state == BOX_STARTING);
}

bool sandbox_being_saved(const struct sandbox *sb)
{
	return sb->state == SANDBOX_SAVING || (sb->state == SANDBOX_RUNNING && sb->box.state == BOX_RELEASED);
}

bool sandbox_is_warm(const struct sandbox *sb)
{
	return sb->state == SANDBOX_STARTING && sb->row == ROW_COPY_NONE;
}

/* --- waiters and connections --------------------------------------------------------------------------------- */

void sandbox_wait(struct sandbox *sb, struct sandbox_waiter *w)
{
	LIST_INSERT_HEAD(&sb->waiters, w, link);
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

void sandbox_attach(struct sandbox *sb, struct sandbox_link *l)
{
	LIST_INSERT_HEAD(&sb->links, l, link);
	l->hooked = true;
}

void sandbox_detach(struct sandbox_link *l)
{
	if (l->hooked)
		LIST_REMOVE(l, link);
	l->hooked = false;
}

void sandbox_break_links(struct sandbox *sb)
{
	struct sandbox_link *l;

	while ((l = LIST_FIRST(&sb->links))) {
		sandbox_detach(l);
		l->broken(l, sb);
	}
	sandbox_idle_close(sb);
}

/* --- the change ---------------------------------------------------------------------------------------------- */

void sandbox_arm_expiry(struct sandbox *sb)
{
	uint64_t now = clock_wall_ms();

	expiry_set(sb->front->sandbox.expiry, &sb->expiry, clock_mono_ms() + (sb->end_ms > now ? sb->end_ms - now : 0));
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
		census_running(sb->front->account.census, sb->team, to == SANDBOX_RUNNING ? 1 : -1);
}

static void report_audit(struct sandbox *sb, enum sandbox_state from, enum sandbox_state to)
{
	if (to == SANDBOX_RUNNING && (from == SANDBOX_STARTING || from == SANDBOX_RESUMING))
		audit_life(sb, from == SANDBOX_STARTING ? "sandbox.started" : "sandbox.resumed");
	if (to == SANDBOX_PAUSED && from == SANDBOX_PAUSING)
		audit_life(sb, "sandbox.paused");
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
		event_note(sb, EVENT_KILLED, json_pack("{s:s}", "kill_reason", why[sb->end_why]));
	else if (to == SANDBOX_RUNNING && (from == SANDBOX_STARTING || from == SANDBOX_RESUMING))
		event_note(sb, from == SANDBOX_STARTING ? EVENT_CREATED : EVENT_RESUMED, NULL);
	else if (to == SANDBOX_PAUSED && from != SANDBOX_RESUMING)
		event_note(sb, EVENT_PAUSED, NULL);
}

/* Removes it from the table: its id cannot be found any more. */
static void leave_table(struct sandbox *sb, enum sandbox_state from)
{
	if (from != SANDBOX_STARTING) /* no final report follows for a start */
		charge_leaves(sb);
	sandbox_table_drop(sb->front->sandbox.table, sb);
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
		expiry_clear(sb->front->sandbox.expiry, &sb->expiry);
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
