/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/impl: what the files share that move a sandbox from one state to the next. */
#pragma once

#include "front/link/box.h"
#include "front/sandbox/sandbox.h"

void sandbox_set_state(struct sandbox *sb, enum sandbox_state to); /* the one place where the state changes */
bool sandbox_counts(enum sandbox_state s);                         /* it runs, as far as the report of usage goes */
void sandbox_arm_expiry(struct sandbox *sb);
void sandbox_break_links(struct sandbox *sb); /* it does not run any more: what is connected to it ends */
void sandbox_idle_close(struct sandbox *sb);
/* all is written that sandbox_save() was asked for: who waits for that goes on */
void sandbox_save_over(struct sandbox *sb);
void sandbox_note_life(struct sandbox *sb, enum log_level level, const char *message);
uint64_t sandbox_now_us(void); /* wall clock; two that started within a millisecond still have an order */

/* box_start() with all that its spec says. flags: START_KEPT or START_RESTORE from that name, or 0. */
void sandbox_box_start(struct sandbox *sb, uint32_t flags, const char from[ID_SIZE], box_fn *fn, void *user);

/* box_settle() once the rules of its network hold. With the result, sb is still what it was, or `exited` is set. */
void sandbox_settle(struct sandbox *sb, uint64_t wait_ms, uint32_t start_wait_s, box_fn *fn, void *user);

#define SANDBOX_SETTLE_MS 10000 /* for init to take its settings */

uint32_t sandbox_start_wait_s(const struct front *f); /* for the start command of a template; not 0 */

/* pause.c: its box has exited, and it was or is to be paused. was: what the box was doing. true: it lives on in what is
 * saved of it. */
bool sandbox_outlives(struct sandbox *sb, enum box_state was);
