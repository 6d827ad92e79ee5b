/* SPDX-License-Identifier: Apache-2.0 */
/* audit: opens the files of the audit trail for the front, which cannot open them itself.
 *
 * The files are in a directory that only root can enter, so the front has no access to old segments other than
 * an fd of the last one. The warden decides which segments are deleted, so that a compromised front cannot erase
 * its traces. The warden does not read the files. (The kernel's records of refused system calls are a different
 * subject: warden/service/refusals.h.) */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "ipc/msg.h"

struct config;

#define AUDIT_DIR "audit" /* below the state directory */

/* n: 0 opens the last segment ever written to (even if it is empty now: there is no way back to an older one),
 * or creates the first; otherwise n must be the number after the last, and the segment is empty. The fd is for
 * reading and appending. Fills in *re. -EPERM: it is too early for another segment. */
int audit_open(const struct config *c, uint32_t n, struct msg_audit_file *re, int *ret_fd, struct err *e);

/* Deletes segment n, which must be the first and not the last. -EPERM: it is not old enough, and the size limit
 * is not exceeded. */
int audit_drop(const struct config *c, uint32_t n, struct err *e);
