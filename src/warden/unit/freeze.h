/* SPDX-License-Identifier: Apache-2.0 */
/* freeze: freezes and thaws all processes of a running sandbox. */
#pragma once

#include <stdint.h>

struct unit;

/* Both answer the front's request; unit_freeze() does so when all processes are frozen. */
void unit_freeze(struct unit *sb, uint32_t seq);
void unit_thaw(struct unit *sb, uint32_t seq);
void unit_thaw_quietly(struct unit *sb); /* without an answer */
void unit_freeze_end(struct unit *sb);   /* the sandbox has ended: answers a pending freeze or thaw */
