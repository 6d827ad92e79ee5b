/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/upkeep: what the front does to sandboxes by itself, when a quota is used up, memory is short, or they
 * are too old. */
#pragma once

struct sandboxes;

/* Once a second: pauses the sandboxes of teams and keys that exceed a daily quota. */
void over_quota_tick(struct sandboxes *all);

/* Once a second: detects that memory is short: less than an eighth is left of the machine's memory, or of the limit for
 * all sandboxes together. While it is short, the warm pool is emptied (front/sandbox/warm_pool.h), and paused sandboxes
 * that have a checkpoint are removed from memory. */
void memory_tick(struct sandboxes *all);
/* Removes the largest paused sandbox that has a checkpoint from memory; one at a time. */
void sandbox_reclaim_memory(struct sandboxes *all);

/* Removes snapshots and paused sandboxes that are too old. Before history_prune(): what it ends leaves records. */
void retention_prune(struct sandboxes *all);
