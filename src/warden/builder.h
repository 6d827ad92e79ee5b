/* SPDX-License-Identifier: Apache-2.0 */
/* builder: the child process in which the engine makes one sandbox, so that the warden's loop never waits.
 *
 * It reports the record and the pidfd over a socketpair and ends. One that takes longer than BUILDER_MS
 * (BUILDER_RESTORE_MS) is killed, and it dies with the warden: the next warden finds the record in stage STARTING and
 * clears what is there. */
#pragma once

#include "base/err.h"

struct builder;
struct unit;

#define BUILDER_MS 20000
#define BUILDER_RESTORE_MS 150000 /* a memory of gigabytes has to be read from disk */

/* Calls sandbox_built() later, unless it fails right away. */
int builder_new(struct unit *sb, struct builder **ret, struct err *e);

void builder_free(struct builder *b); /* kills it unless it has reported; NULL is fine */
