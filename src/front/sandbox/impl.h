/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/impl: functions shared by the files that move a sandbox from one state to the next. */
#pragma once

#include "front/link/box.h"
#include "front/sandbox/sandbox.h"

void sandbox_set_state(struct sandbox *sb, enum sandbox_state to); /* the only function that changes the state */
/* whether the time in this state counts as running time in the usage report */
bool sandbox_counts(enum sandbox_state s);
void sandbox_arm_expiry(struct sandbox *sb);
void sandbox_break_links(struct sandbox *sb); /* ends all connections to a sandbox that has stopped running */
void sandbox_idle_close(struct sandbox *sb);
/* Called when everything that sandbox_save() writes is written; wakes the waiters. */
void sandbox_save_over(struct sandbox *sb);
void sandbox_note_life(struct sandbox *sb, enum log_level level, const char *message);
/* wall clock in microseconds, so that sandboxes started within one millisecond have an order */
uint64_t sandbox_now_us(void);

/* Calls box_start() with everything from the spec. flags: START_KEPT or START_RESTORE with the name `from`, or 0. */
void sandbox_box_start(struct sandbox *sb, uint32_t flags, const char from[ID_SIZE], box_fn *fn, void *user);

/* Calls box_settle() once atoll-egress has the network rules. If sb exits or starts again meanwhile, the result
 * has `exited` set. */
void sandbox_settle(struct sandbox *sb, uint64_t wait_ms, uint32_t start_wait_s, box_fn *fn, void *user);

#define SANDBOX_SETTLE_MS 10000 /* time limit for init to take its settings */

uint32_t sandbox_start_wait_s(const struct front *f); /* time limit for the start command of a template; never 0 */

/* pause.c: kills the box of a sandbox that stays in its saved state */
void sandbox_reclaim(struct sandbox *sb);

/* pause.c: called when the box has exited while the sandbox was PAUSING, PAUSED or RESUMING. was: the state of the
 * box before. Returns true if the sandbox stays, because its saved state exists. */
bool sandbox_outlives(struct sandbox *sb, enum box_state was);
