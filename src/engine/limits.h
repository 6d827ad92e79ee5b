/* SPDX-License-Identifier: Apache-2.0 */
/* limits: the rlimits and priorities of sandboxes' processes; for oneself, before a program runs that is not ours. */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* Before a sandbox is made or restored: core_pattern may have changed since the daemon began. See base/inherited.h. */
int limits_core(struct err *e);
/* ... of one that was restored, whose limits are those it was kept with */
int limits_core_of(int pid, struct err *e);

/* Before the user namespace is made: the limits of this moment bound all of the sandbox's users together. What all
 * sandboxes of a template have of them together is counted, too, against the limits that their outer namespace is made
 * with: base/inherited.c lifts these. Only who has CAP_SYS_RESOURCE can; without it, each gets a share of what the host
 * allows. */
int limits_user(struct err *e);

/* open_files: as many, hard, but no more than we may have ourselves. */
int limits_process(uint32_t open_files, struct err *e);
/* ... of another, below whose user namespace we have power */
int limits_process_of(int pid, uint32_t open_files, struct err *e);

/* What the daemon may have for itself to survive and to be quick is not for its sandboxes. */
int limits_ordinary(struct err *e);
