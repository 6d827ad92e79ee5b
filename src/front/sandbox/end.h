/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/end: from any state to ENDING or DEAD. */
#pragma once

#include "front/account/metrics.h"

struct sandbox;

void sandbox_kill(struct sandbox *sb, enum end_reason why,
    const char *reason); /* it has left the table on return; DEAD once the warden has confirmed */
void sandbox_exited(struct sandbox *sb, enum end_reason why, const char *reason); /* it has ended by itself */
void sandbox_delete_saved(struct sandbox *sb);
