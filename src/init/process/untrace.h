/* SPDX-License-Identifier: Apache-2.0 */
/* untrace: children that have made us their tracer (PTRACE_TRACEME) without our doing. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* What wait() has told of a child, or of a thread of one. True: it has not ended but stopped for its tracer; it goes on
 * now, without one, as the signal that stopped it would have it. Else each signal, and each program it executes, would
 * stop it for ever. */
bool untrace(pid_t pid, int status);
