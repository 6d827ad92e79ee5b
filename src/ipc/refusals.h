/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/refusals: the messages from atoll-refusals to the warden: which system calls were refused to whom.
 *
 * A SOCK_SEQPACKET socketpair; one struct per packet, in the byte order of the machine. The warden says nothing. */
#pragma once

#include <stdint.h>

#define AU_VERSION 1
#define AU_COMM_SIZE 16 /* as of the kernel: 15 bytes and a NUL, zeros behind it; printable ASCII */

enum au_type {
	AU_DENIED = 1,
	AU_FLOOD, /* only uid is set: one of that sandbox's programs does nothing else */
};

struct au_event {
	uint16_t version;
	uint16_t type;
	uint32_t uid;  /* of the host; tells the sandbox */
	uint32_t arch; /* AUDIT_ARCH_* */
	int32_t nr;
	uint32_t pid;            /* inside the sandbox; 0: it was gone already */
	uint32_t count;          /* how often since the last event about the same call and name */
	char comm[AU_COMM_SIZE]; /* the name of the process */
};
