/* SPDX-License-Identifier: Apache-2.0 */
/* audit/record: the kernel's text about one refused system call (AUDIT_SECCOMP). No I/O. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "ipc/refusals.h"

struct record {
	uint32_t uid, pid, arch;
	int32_t nr;
	char comm[AU_COMM_SIZE]; /* what is not printable ASCII is a '?' */
};

/* 0, or -EBADMSG: a field is missing or malformed. */
int record_parse(struct str text, struct record *ret);

/* Of the text of /proc/PID/status: the pid in its innermost namespace; 0: it says nothing of the kind, or is
 * about somebody whose uid is outside of [from, to]. */
uint32_t record_pid_inside(struct str status, uint32_t from, uint32_t to);
