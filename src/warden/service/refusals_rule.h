/* SPDX-License-Identifier: Apache-2.0 */
/* refusals_rule: the kernel's audit system: a socket on what it tells, and rules about what it does not. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* A socket that gets records of refused system calls and no others, whoever holds it. Needs CAP_AUDIT_READ, and
 * the host's own network and pid namespaces. */
int refusals_socket(int *ret_fd, struct err *e);

/* No such record is made for processes with these uids, or is again. Needs CAP_AUDIT_CONTROL. -EEXIST, -ENOENT:
 * as it was. */
int refusals_rule_silence(uid_t from, uid_t to, bool silent);

/* Whatever the former left behind about uids of that range. */
void refusals_rule_forget(uid_t from, uid_t to);
