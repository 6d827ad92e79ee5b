/* SPDX-License-Identifier: Apache-2.0 */
/* audit: the files of the audit trail, opened for the front, which can open none.
 *
 * They lie in a directory that only root can enter: of what the front has written before, it has no more than an fd of
 * the last segment. What is dropped is checked here, so that a front that was taken over cannot remove what it did. The
 * warden does not look into the files. (Records of refused system calls, of which warden/service/refusals.h tells, are
 * something else.) */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "ipc/msg.h"

struct config;

#define AUDIT_DIR "audit" /* below the state directory */

/* n: 0 for the last segment that was ever written to (also if it is empty now: there is no way back to an older one),
 * or the first of all; else the number of the one behind it, empty. The fd is for reading and appending; fills in what
 * *re tells of it. -EPERM: it is too early for another one. */
int audit_open(const struct config *c, uint32_t n, struct msg_audit_file *re, int *ret_fd, struct err *e);

/* n: the first one, not the last. -EPERM: it is neither old enough, nor is there too much. */
int audit_drop(const struct config *c, uint32_t n, struct err *e);
