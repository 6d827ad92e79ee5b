/* SPDX-License-Identifier: Apache-2.0 */
/* refusals/record: the kernel's text about one refused system call (AUDIT_SECCOMP). No I/O. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "ipc/refusals.h"

struct record {
	uint32_t uid, pid, arch;
	int32_t nr;
	char comm[AU_COMM_SIZE]; /* other than printable ASCII is replaced by '?' */
};

/* 0, or -EBADMSG: a field is missing or malformed. */
int record_parse(struct str text, struct record *ret);

/* Extracts the pid in the innermost namespace from the text of /proc/PID/status. 0: it is missing, or the uid of
 * the process is not in [from, to]. */
uint32_t record_pid_inside(struct str status, uint32_t from, uint32_t to);
