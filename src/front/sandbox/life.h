/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/life: the beginning and the end of a sandbox: created, restored, expired, exited, forgotten. */
#pragma once

#include "base/err.h"
#include "front/account/metrics.h"
#include <stdbool.h>
#include <stdint.h>

struct expiry_entry;
struct sandbox;
struct sandbox_row;
struct sandboxes;
struct spec;
struct warm_pool_gift;

/* Creates a sandbox in STARTING, in the table. warm: a member taken from the warm pool; the caller starts it with
 * sandbox_start_warm(), its row is written once it runs, and this call does not fail. If warm is NULL, the row is
 * written, and the caller starts it with sandbox_start_cold(). Takes ownership of what *sp owns. */
int sandbox_new(struct sandboxes *all, const char *team, const char *key, struct spec *sp,
    const struct warm_pool_gift *warm, struct sandbox **ret, struct err *e);
/* Recreates a sandbox from its row after a restart of the front; NULL: the row is damaged. */
struct sandbox *sandbox_restore(struct sandboxes *all, const struct sandbox_row *row, bool live, bool frozen);
/* The warden reports the exit of the box. The sandbox ends, stays paused with its saved state, or is started
 * again. */
void sandbox_box_exited(struct sandbox *sb, enum end_reason why, const char *reason);
void sandbox_expired(struct expiry_entry *en);
void sandbox_forget(struct sandbox *sb); /* frees it because the front ends; the sandbox keeps running */

void sandbox_set_timeout(struct sandbox *sb, uint32_t timeout_s, bool extend_only); /* RUNNING only */
