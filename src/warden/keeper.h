/* SPDX-License-Identifier: Apache-2.0 */
/* keeper: the child process in which the engine saves the disk or the memory of a frozen sandbox, so that the
 * warden's loop never blocks. There is at most one per sandbox.
 *
 * While the child needs the sandbox, the sandbox must not be thawed. A thaw that is requested meanwhile is done
 * afterwards; with KEEP_THAW the keeper thaws the sandbox itself. The child dies with the warden, but a dump
 * that has begun continues in atoll-ckpt. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ipc/msg.h"

struct keeper;
struct unit;
struct warden;

/* Carries out a checked OP_SNAPSHOT or OP_CHECKPOINT for a running sandbox, and answers the front. */
void keeper_begin(struct unit *sb, const struct msg_keep *m);

/* If the keeper still needs the sandbox, defers the thaw with that seq until it does not, and returns true. */
bool keeper_puts_off(struct unit *sb, uint32_t seq);

bool keeper_writes(const struct warden *w, const char *name); /* a keeper is writing under that name */
void keeper_free(struct keeper *k); /* NULL is allowed; pending requests are answered with an error */
