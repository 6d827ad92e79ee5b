/* SPDX-License-Identifier: Apache-2.0 */
/* guest: what the engine and atoll-init agree on in a sandbox that has a kernel of its own. */
#pragma once

/* Memory that the programs that make up that kernel need for themselves, and that programs inside take while atoll-init
 * looks away. The limit on the host is by so much above the sandbox's: if the host's limit were reached, not one
 * process would end but the sandbox. What the kernel inside shows as its memory is the sandbox's limit
 * (init/pressure.h). */
#define GUEST_RESERVE_BYTES (96ull << 20)
