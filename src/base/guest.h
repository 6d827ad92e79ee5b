/* SPDX-License-Identifier: Apache-2.0 */
/* guest: what the engine and atoll-init agree on in a sandbox that has a kernel of its own. */
#pragma once

/* Memory that the programs that make up that kernel need for themselves. The limit on the host is by so much above the
 * sandbox's: if the host's limit were reached, not one process would end but the sandbox. Atoll-init keeps as much free
 * of what the kernel inside shows as its memory (init/pressure.h). */
#define GUEST_RESERVE_BYTES (96ull << 20)
