/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/oom: handles the report that the kernel has killed a process of a sandbox at its memory limit. */
#pragma once

#include <stdint.h>

struct sandbox;

/* Reports the number of its processes killed at its memory limit since its start. */
void sandbox_oom(struct sandbox *sb, uint32_t kills);
