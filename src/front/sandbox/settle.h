/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/settle: starts the box of a sandbox and hands init its settings. */
#pragma once

#include "front/link/box.h"
#include "ipc/msg.h"

struct sandbox;
struct sandboxes;

/* The limits in the form that the warden expects. */
struct msg_limits sandbox_limits_to_send(const struct sandbox *sb, const struct msg_limits *l);
/* Calls box_start() with everything from the spec. flags: START_KEPT or START_RESTORE with the name `from`, or 0. */
void sandbox_box_start(struct sandbox *sb, uint32_t flags, const char from[ID_SIZE], box_fn *fn, void *user);

/* Calls box_settle() once atoll-egress has the network rules. If sb exits or starts again meanwhile, the result
 * has `exited` set. */
void sandbox_settle(struct sandbox *sb, uint64_t wait_ms, uint32_t start_wait_s, box_fn *fn, void *user);

#define SANDBOX_SETTLE_MS 10000 /* time limit for init to take its settings */

uint32_t sandbox_start_wait_s(
    const struct sandboxes *all); /* time limit for the start command of a template; never 0 */
