/* SPDX-License-Identifier: Apache-2.0 */
/* inherited: resets what a process has inherited, so that it is the same however the server was started.
 *
 * sudo, su, systemd, cron, ssh and containers pass on different limits, masks, signals, open files and
 * environments, which helpers and sandboxes would inherit in turn. `atoll serve` and atolld call
 * inherited_reset() before anything else. */
#pragma once

#include <stdbool.h>
#include <sys/resource.h>

#include "base/err.h"

/* Opens stdio where it is closed, and closes all other files. Resets signals, umask, limits, groups, inheritable
 * capabilities, securebits, personality, session keyring, scheduling and a raised oom_score_adj. Removes all
 * environment variables that are not known to be harmless. Properties that the process may not change stay as
 * they are; inherited_core() and inherited_no_new_privs() check the ones that matter. */
void inherited_reset(void);

/* Raises the number of open files to the hard limit, which the administrator sets. For atolld alone: some
 * programs that build a template loop over all fd numbers up to the limit. */
void inherited_open_files(void);

/* If the process is pid 1 of a container, continues in a child. The first process forwards signals, reaps
 * orphans, and exits with the status of the child. Does nothing in any other process. */
void inherited_pid_one(void);

/* Fails if a crash in a sandbox would be handed to a program of the host. A program in core_pattern is not
 * started only if the core file limit of the process is exactly 1. Only CAP_SYS_RESOURCE can raise a hard limit
 * of 0. */
int inherited_core(struct err *e);
bool inherited_core_pattern(void); /* true: core_pattern names a program or a socket of the host */

/* True: set-uid programs do not work in this process and its descendants. This cannot be undone. */
bool inherited_no_new_privs(void);

/* Lowers the soft and the hard limit to at most `most`. Never raises the hard limit, which needs a capability.
 * -errno */
int rlimit_lower(int what, rlim_t most);
