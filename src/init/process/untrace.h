/* SPDX-License-Identifier: Apache-2.0 */
/* untrace: detaches children that made init their tracer with PTRACE_TRACEME. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Takes what wait() returned for a child or one of its threads. True: it has not ended but is in a ptrace stop. It
 * is detached and the signal that stopped it is delivered. Without this, each signal and each execve() would stop
 * it for ever. */
bool untrace(pid_t pid, int status);
