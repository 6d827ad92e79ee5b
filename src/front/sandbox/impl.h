/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/impl: what the files share that move a sandbox from one state to the next. */
#pragma once

#include "front/link/init_call.h"
#include "front/link/warden_link.h"
#include "front/sandbox/sandbox.h"

void sandbox_set_state(struct sandbox *sb, enum sandbox_state to); /* the one place where the state changes */
/* all is written that sandbox_keep() was asked for: who waits for that goes on */
void sandbox_was_kept(struct sandbox *sb);
void sandbox_note_life(struct sandbox *sb, enum log_level level, const char *message);
uint64_t sandbox_now_us(void); /* wall clock; two that started within a millisecond still have an order */

/* OP_START with all that its settings say. flags: START_KEPT or START_RESTORE from that name, or 0. */
void sandbox_ask_start(struct sandbox *sb, uint32_t flags, const char from[ID_SIZE], warden_fn *fn, void *user);

/* POST /init */
void sandbox_tell(struct sandbox *sb, uint64_t wait_ms, init_call_fn *fn, void *user);

#define SANDBOX_TELL_MS 10000
#define SANDBOX_SETTLE_MS 10000 /* for init to take its settings */

uint32_t sandbox_start_wait_s(const struct front *f); /* for the start command of a template; not 0 */
