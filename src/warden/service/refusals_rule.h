/* SPDX-License-Identifier: Apache-2.0 */
/* refusals_rule: the kernel's audit system: a socket for its records, and rules that suppress records. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* Opens a socket that receives records of refused system calls and nothing else, whichever process holds it.
 * Needs CAP_AUDIT_READ and the host's own network and pid namespaces. */
int refusals_socket(int *ret_fd, struct err *e);

/* Stops or resumes such records for processes with these uids. Needs CAP_AUDIT_CONTROL. -EEXIST, -ENOENT:
 * nothing had to change. */
int refusals_rule_silence(uid_t from, uid_t to, bool silent);

/* Removes all rules that refusals_rule_silence() has left for uids of that range. */
void refusals_rule_forget(uid_t from, uid_t to);
