/* SPDX-License-Identifier: Apache-2.0 */
/* builder: the child process in which the engine makes one sandbox, so that the warden's loop never waits.
 *
 * It reports the record and the pidfd over a socketpair and ends. One that takes longer than BUILDER_MS is killed, and it dies
 * with the warden: the next warden finds the record in stage STARTING and clears what is there. */
#pragma once

#include "base/err.h"

struct builder;
struct sandbox;
struct warden;

#define BUILDER_MS 20000

/* Calls sandbox_built() later, unless it fails right away. */
int builder_new(struct sandbox *sb, struct builder **ret, struct err *e);

/* In every child that runs engine code for long: what the warden holds but such a child must not. Also lets it be looked at: the warden is
 * not dumpable, and then only host root may open /proc/PID/uid_map of what is made here. */
void builder_let_go(const struct warden *w);

void builder_free(struct builder *b);		/* kills it unless it has reported; NULL is fine */
