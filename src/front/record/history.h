/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/history: removes old records. For snapshots and paused sandboxes see front/sandbox/upkeep.h. */
#pragma once

#include <stdbool.h>

struct records;

void history_prune(struct records *rs);     /* at the start, and then whenever it is due: removes what is too old */
bool history_due(const struct records *rs); /* every ten seconds */
/* Every second: calls history_prune() when it is due, and continues one that was too large for one pass. */
void history_tick(struct records *rs);
