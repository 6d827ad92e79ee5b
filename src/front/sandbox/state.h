/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/state: which state may follow which, and the change from one to the next. */
#pragma once

#include "front/sandbox/sandbox.h"
#include <stdbool.h>

void sandbox_set_state(struct sandbox *sb, enum sandbox_state to); /* the only function that changes the state */
/* whether the time in this state counts as running time in the usage report */
bool sandbox_counts(enum sandbox_state s);
void sandbox_arm_expiry(struct sandbox *sb);
/* Called when everything that sandbox_save() writes is written; wakes the waiters. */
void sandbox_save_over(struct sandbox *sb);
bool sandbox_may_follow(enum sandbox_state from, enum memory_place at, enum sandbox_state to);
