/* SPDX-License-Identifier: Apache-2.0 */
/* keeper: the child process in which the engine writes the disk or the memory of a frozen sandbox, so that the warden's
 * loop never waits. There is one per sandbox at a time.
 *
 * While it needs the sandbox nobody may thaw it (with KEEP_THAW it does that itself then); a thaw that comes meanwhile
 * is carried out afterwards. It dies with the warden, but a dump that has begun goes on in atoll-ckpt. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ipc/msg.h"

struct keeper;
struct unit;
struct warden;

/* OP_SNAPSHOT or OP_CHECKPOINT, checked, of a running sandbox; answers the front by itself. */
void keeper_begin(struct unit *sb, const struct msg_keep *m);

/* Is the sandbox in use by it? Then the thaw with that seq is put off until it is not, and true is returned. */
bool keeper_puts_off(struct unit *sb, uint32_t seq);

bool keeper_writes(const struct warden *w, const char *name); /* one of them, under that name */
void keeper_free(struct keeper *k); /* NULL is fine; who waits for it is told that it was cancelled */
