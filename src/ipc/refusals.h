/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/refusals: the messages from atoll-refusals to the warden: which system calls were refused to which
 * sandbox.
 *
 * A SOCK_SEQPACKET socketpair; one struct per packet, in host byte order. The warden sends nothing. */
#pragma once

#include <stdint.h>

#define AU_VERSION 1
#define AU_COMM_SIZE 16 /* as in the kernel: 15 bytes and a NUL, zero padded; printable ASCII */

enum au_type {
	AU_DENIED = 1,
	AU_FLOOD, /* only uid is set: a program of that sandbox makes refused calls all the time */
};

struct au_event {
	uint16_t version;
	uint16_t type;
	uint32_t uid;  /* on the host; identifies the sandbox */
	uint32_t arch; /* AUDIT_ARCH_* */
	int32_t nr;
	uint32_t pid;            /* in the sandbox; 0: it had already exited */
	uint32_t count;          /* since the last event about the same call and name */
	char comm[AU_COMM_SIZE]; /* the name of the process */
};
