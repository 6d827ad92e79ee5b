/* SPDX-License-Identifier: Apache-2.0 */
/* builder: the child process in which the engine creates one sandbox, so that the warden's loop never blocks.
 *
 * The builder reports the record and the pidfd over a socketpair and exits. It is killed after BUILDER_MS
 * (BUILDER_RESTORE_MS), and it dies with the warden: the next warden finds the record in stage STARTING and
 * removes what the builder left behind. */
#pragma once

#include "base/err.h"

struct builder;
struct engine_record;
struct unit;

#define BUILDER_MS 30000
#define BUILDER_RESTORE_MS 150000 /* gigabytes of memory may have to be read from disk */

/* 0, with what the engine made and a pidfd that the callee owns; or -errno and e. The builder is freed. */
typedef void builder_done(struct unit *sb, int r, const struct engine_record *er, int pidfd, const struct err *e);

/* Calls done() later, unless it fails immediately. */
int builder_new(struct unit *sb, builder_done *done, struct builder **ret, struct err *e);

void builder_free(struct builder *b); /* kills it unless it has reported; NULL is allowed */
