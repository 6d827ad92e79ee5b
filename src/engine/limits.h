/* SPDX-License-Identifier: Apache-2.0 */
/* limits: the rlimits and priorities of sandboxes' processes. Set by a process for itself, before it runs a
 * program that is not ours. */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* Called before a sandbox is started, because core_pattern may have changed since the daemon started. See
 * base/inherited.h. */
int limits_core(struct err *e);
/* ... of a restored process, whose rlimits are those of its checkpoint */
int limits_core_of(int pid, struct err *e);

/* Called before the user namespace is made: the rlimits of that moment bound all users of the sandbox together.
 * The kernel also counts all sandboxes of a template together against the rlimits that their outer namespace was
 * made with; base/inherited.c raises those. Only a process with CAP_SYS_RESOURCE can do that. Without it, each
 * sandbox gets a share of what the host allows. */
int limits_user(struct err *e);

/* Sets the soft and hard limits of open files to open_files, but not above our own hard limit. */
int limits_process(uint32_t open_files, struct err *e);

/* Drops the priorities that the daemon has in order to survive and to be quick; sandboxes must not inherit them. */
int limits_ordinary(struct err *e);
