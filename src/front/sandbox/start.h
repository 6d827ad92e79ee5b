/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/start: from STARTING to RUNNING. */
#pragma once

struct sandbox;

/* Both end in RUNNING, or in ENDING or DEAD with `fail` set. */
void sandbox_start_warm(struct sandbox *sb); /* only sends the settings; if that fails, starts another sandbox */
void sandbox_start_cold(struct sandbox *sb);
