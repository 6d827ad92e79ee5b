/* SPDX-License-Identifier: Apache-2.0 */
/* core: core scheduling: two threads of one processor core are never given to two sandboxes, nor to one and the
 * host, at a time.
 *
 * A sandbox is marked by a cookie, which children inherit and nobody inside can get rid of: one can only make
 * another one, or share that of a process that one may trace. Processors have leaked between such threads again
 * and again (MDS, L1TF, TAA). Where the kernel does not have it, or the processor has one thread per core, it
 * does nothing. */
#pragma once

#include <linux/prctl.h>
#include <sys/prctl.h>

#ifndef PR_SCHED_CORE
#define PR_SCHED_CORE 62
#define PR_SCHED_CORE_CREATE 1
#define PR_SCHED_CORE_SHARE_FROM 3
#endif
#define CORE_THREAD_ 0  /* PIDTYPE_PID */
#define CORE_PROCESS_ 1 /* PIDTYPE_TGID */

/* A cookie that no other process has. */
static inline void core_own(void)
{
	(void)prctl(PR_SCHED_CORE, PR_SCHED_CORE_CREATE, 0, CORE_PROCESS_, 0);
}

/* That of pid 1, for one who joins a sandbox and still has power over it. If it has none, none. */
static inline void core_share_with_init(void)
{
	(void)prctl(PR_SCHED_CORE, PR_SCHED_CORE_SHARE_FROM, 1, CORE_THREAD_, 0);
}
