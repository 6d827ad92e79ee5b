/* SPDX-License-Identifier: Apache-2.0 */
/* core: core scheduling: two hardware threads of one core never run two sandboxes, or a sandbox and the host, at
 * the same time.
 *
 * A sandbox is marked by a cookie that children inherit. Nobody inside can drop it: a process can only create a
 * new cookie, or share that of a process it may trace. Processors have repeatedly leaked data between such threads
 * (MDS, L1TF, TAA). Without support in the kernel, or with one thread per core, these functions do nothing. */
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

/* Gives the calling process a new, unique cookie. */
static inline void core_own(void)
{
	(void)prctl(PR_SCHED_CORE, PR_SCHED_CORE_CREATE, 0, CORE_PROCESS_, 0);
}

/* Takes the cookie of pid 1, for a process that joins a sandbox and still has power over it. If pid 1 has no
 * cookie, the caller has none either. */
static inline void core_share_with_init(void)
{
	(void)prctl(PR_SCHED_CORE, PR_SCHED_CORE_SHARE_FROM, 1, CORE_THREAD_, 0);
}
