/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/history: removes old records. */
#pragma once

struct front;

#define HISTORY_EVERY_S 10

void history_prune(struct front *f); /* at the start, then every HISTORY_EVERY_S: removes what is too old */
/* Every second: calls history_prune() when it is due, and continues one that was too large for one pass. */
void history_tick(struct front *f);
