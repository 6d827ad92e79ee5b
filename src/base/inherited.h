/* SPDX-License-Identifier: Apache-2.0 */
/* inherited: what a process has from whoever started it, made the same for all starts.
 *
 * sudo, su, systemd, cron, ssh and containers hand on different limits, masks, signals, open files and environments.
 * Helpers and sandboxes would have them from the server in turn. `atoll serve` and atolld call inherited_reset() before
 * anything else. */
#pragma once

#include <stdbool.h>
#include <sys/resource.h>

#include "base/err.h"

/* Opens stdio where it is closed and closes all other files. Resets signals, umask, limits, groups, inheritable
 * capabilities, securebits, personality, session keyring, scheduling and a raised oom_score_adj. Of the environment it
 * keeps what is known to be harmless. What may not be changed stays as it is: inherited_core() and
 * inherited_no_new_privs() tell what matters of it. */
void inherited_reset(void);

/* As many open files as the hard limit allows, which is the administrator's. For atolld alone: some programs that build
 * a template look at every number up to the limit. */
void inherited_open_files(void);

/* Pid 1 of a container: goes on in a child. The first process passes signals on, reaps orphans, and ends as the child
 * does. Does nothing for any other process. */
void inherited_pid_one(void);

/* Fails if a crash in a sandbox would be handed to a program of the host. The kernel spares a program in core_pattern
 * only processes whose limit of core files is exactly 1. A hard limit of 0 can be raised by CAP_SYS_RESOURCE only. */
int inherited_core(struct err *e);
bool inherited_core_pattern(void); /* true: it names a program or a socket of the host */

/* True: set-uid programs do not work here nor in anything that is started from here. It cannot be undone. */
bool inherited_no_new_privs(void);

/* Lowers the limit, soft and hard, to at most that: never above the hard limit, which needs a capability. -errno */
int rlimit_lower(int what, rlim_t most);
