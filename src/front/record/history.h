/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/history: what is remembered of the past, and for how long. */
#pragma once

struct front;

#define HISTORY_EVERY_S 10

void history_prune(struct front *f); /* at the start, then every HISTORY_EVERY_S: forgets what is too old */
/* every second: does that when it is time, and goes on with what was too much for one go */
void history_tick(struct front *f);
